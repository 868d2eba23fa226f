#include "monet/report/page_parts.h"

namespace monet {

std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1d2228; --quiet: #667079; --line: #e3e6e8; --in: #ffffff;
  --p0: #3f78c9; --p1: #9a5fc0; --p2: #dd7a3a; --p3: #2e9a72; --p4: #c7a11f;
  --u0: #4f63c6; --u1: #dd7a3a; --u2: #2e9a72; --u3: #45a6d6; --u4: #8d969e; --u5: #c7a11f;
  --e0: #c9503f; --e1: #8d969e; --e2: #d99a2b; --e3: #b9bfc4;
  --m0: #1f4f82; --m1: #2f6fad; --m2: #4a8fce; --m3: #72aede; --m4: #9cc8ea; --m5: #c3dff3; --limit: #c0392b; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1b1f23; --ink: #e6e9eb; --quiet: #97a1a9; --line: #2c3237; --in: #0f1214;
  --p0: #6ba0ea; --p1: #b987dc; --p2: #ee9860; --p3: #52bd95; --p4: #dcbb4a;
  --u0: #7f91ec; --u1: #ee9860; --u2: #52bd95; --u3: #6cc0ea; --u4: #8b959d; --u5: #dcbb4a;
  --e0: #e5786a; --e1: #8b959d; --e2: #e8b352; --e3: #5d666d;
  --m0: #a9d2f3; --m1: #7fb8e8; --m2: #5a9ddb; --m3: #3f80bf; --m4: #2f659b; --m5: #254d76; --limit: #ef7667; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1272px; margin: 0 auto; padding: 28px 36px 48px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h1 span { color: var(--quiet); font-weight: 400; }
h2 { font-size: 17px; margin: 0 0 8px; font-weight: 650; }
h3 { font-size: 14px; margin: 0 0 6px; font-weight: 600; }
h3 span, .keys span { color: var(--quiet); font-weight: 400; }
.mode, .note { margin: 2px 0 8px; color: var(--quiet); }
ul { list-style: none; margin: 0; padding: 0; }
.details { display: flex; flex-wrap: wrap; gap: 2px 18px; color: var(--quiet); }
.details b { color: var(--ink); font-weight: 500; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 18px 20px; margin-top: 18px; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(196px, 1fr)); gap: 12px; margin: 20px 0 0; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; }
dt { color: var(--quiet); font-size: 13px; }
dd { margin: 0; font-size: 23px; font-weight: 600; letter-spacing: -0.01em; }
dd small { display: block; font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--quiet); }
.bar { margin-top: 14px; }
.strip { display: flex; height: 20px; gap: 1px; border-radius: 4px; overflow: hidden; margin-bottom: 6px; }
.strip i { flex-basis: 0; min-width: 1px; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 18px; margin-bottom: 6px; font-size: 13px; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.drawing { display: block; width: 100%; min-width: 760px; height: auto; }
.scroll { overflow-x: auto; }
.drawing text { font-size: 11.5px; fill: var(--ink); }
.drawing .quiet { fill: var(--quiet); }
.drawing .head { font-weight: 600; font-size: 12.5px; }
.drawing .in { fill: var(--in); font-size: 10.5px; pointer-events: none; }
.drawing .strong { font-weight: 600; }
.drawing text.limit { fill: var(--limit); }
.grid { stroke: var(--line); fill: none; } .base { stroke: var(--line); fill: none; }
path.limit { stroke: var(--limit); stroke-dasharray: 5 4; fill: none; }
.mark { stroke: var(--ink); stroke-dasharray: 2 3; fill: none; } .peak { fill: var(--ink); stroke: var(--card); stroke-width: 1.5; }
.store { padding-top: 14px; margin-top: 14px; border-top: 1px solid var(--line); }
.store:first-of-type { border-top: 0; margin-top: 0; padding-top: 4px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin-top: 6px; }
th { text-align: left; font-weight: 500; color: var(--quiet); }
th, td { padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; white-space: nowrap; }
td:first-child { white-space: normal; overflow-wrap: anywhere; }
.even { table-layout: fixed; margin: 8px 0 16px; }
tr.rest td { color: var(--quiet); } tbody tr:last-child td { border-bottom: 0; }
.share { background: linear-gradient(var(--line), var(--line)) left 50% / calc(var(--s) * (100% - 14px)) 68% no-repeat; }
details { margin-top: 4px; } summary { cursor: pointer; color: var(--quiet); font-size: 13px; }
footer { color: var(--quiet); font-size: 12.5px; margin-top: 18px; } code { font-size: 12px; overflow-wrap: anywhere; }
#tip { position: fixed; z-index: 2; max-width: 420px; padding: 6px 10px; border-radius: 6px; pointer-events: none; white-space: pre-line;
  background: var(--ink); color: var(--page); font-size: 12.5px; overflow-wrap: anywhere; }
#tip[hidden] { display: none; }
.p0 { fill: var(--p0); background: var(--p0); } .p1 { fill: var(--p1); background: var(--p1); }
.p2 { fill: var(--p2); background: var(--p2); } .p3 { fill: var(--p3); background: var(--p3); }
.p4 { fill: var(--p4); background: var(--p4); } .port0 { fill: var(--quiet); }
.u0 { fill: var(--u0); background: var(--u0); } .u1 { fill: var(--u1); background: var(--u1); }
.u2 { fill: var(--u2); background: var(--u2); } .u3 { fill: var(--u3); background: var(--u3); }
.u4 { fill: var(--u4); background: var(--u4); } .u5 { fill: var(--u5); background: var(--u5); }
.e0 { background: var(--e0); } .e1 { background: var(--e1); } .e2 { background: var(--e2); } .e3 { background: var(--e3); }
.m0 { background: var(--m0); } .m1 { background: var(--m1); } .m2 { background: var(--m2); } .m3 { background: var(--m3); }
.m4 { background: var(--m4); } .m5 { background: var(--m5); }
.k0 { background: var(--p0); } .k1 { background: var(--e2); } .k2 { background: var(--e0); } .k3 { background: var(--e1); }
@media print { section, .figure { break-inside: avoid; } }
)css";
}

std::string_view page_script() {
  return R"js(
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), tip = document.getElementById("tip");
  const time = c => (c * data.perCycle).toPrecision(5).replace(/\.?0+$/, "") + " " + data.unit;
  const bytes = b => { let i = 0; for (; b >= 1024 && i < 4; ++i) b /= 1024;
    return (i && b < 100 ? b.toFixed(1) : Math.round(b)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][i]; };
  const count = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");
  // Where the pointer is, in the drawing's own units.
  const place = (svg, e) => { const r = svg.getBoundingClientRect(), s = data.width / r.width;
    return { x: (e.clientX - r.left) * s, y: (e.clientY - r.top) * s }; };
  const show = (e, text) => {
    tip.hidden = !text; if (!text) return;
    tip.textContent = text;
    const r = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - r.width - 8)) + "px";
    tip.style.top = (e.clientY + 18 + r.height > innerHeight ? e.clientY - r.height - 10 : e.clientY + 18) + "px";
  };
  // Columns are stored as runs: [how many, values…].
  const column = (list, size, index) => {
    for (let i = 0; i < list.length; i += size) { if (index < list[i]) return list.slice(i + 1, i + size); index -= list[i]; } };
  const barText = (row, cycles) => {
    const near = data.latency / data.plot;
    for (let i = 0, at = 0; i < row.d.length; i += 6) {
      const start = at + row.d[i], end = start + row.d[i + 1]; at = end;
      if (start - near > cycles) return "";
      if (cycles > end + near / 2) continue;
      const [n, phase, many, busy] = row.d.slice(i + 2, i + 6), what = row.k === "path" ? "step" : "tile";
      return (n < 0 ? "several, " : data.names[n] + "\n") + data.phases[phase] + ", " + count(many, what) +
        "\n" + time(start) + " to " + time(end) + (row.k === "unit" && busy < 100 ? ", busy " + busy + " %" : "");
    }
    return "";
  };
  const ganttText = p => {
    const row = data.rows.find(r => p.y >= r.y - 1 && p.y <= r.y + r.h + 2), cycles = (p.x - data.left) / data.plot * data.latency;
    if (!row || cycles < 0 || cycles > data.latency) return "";
    const head = data.names[row.n] + "\n";
    if (row.k !== "channel" && row.k !== "port") { const text = barText(row, cycles); return text && head + text; }
    const found = column(row.d, 3, Math.floor(cycles / data.latency * row.c));
    if (found && row.k === "port") return head + "at " + time(cycles) + ", " + found[0] + " % of its cycles";
    return found && found[1] >= 0 ? head + data.names[found[1]] + "\nat " + time(cycles) + ", " + found[0] + " % of its bandwidth" : "";
  };
  const memoryText = (store, p) => {
    const part = (p.x - data.left) / data.plot;
    const found = part >= 0 && part < 1 && column(store.d, 7, Math.floor(part * store.c));
    if (!found) return "";
    const lines = data.uses.map((use, i) => [use.replace("_", " "), found[i] * store.u]).filter(l => l[1] > 0).reverse();
    const total = lines.reduce((sum, l) => sum + l[1], 0);
    return time(part * data.latency) + ": " + bytes(total) + lines.map(l => "\n" + l[0] + " " + bytes(l[1])).join("");
  };
  const watch = (svg, text) => {
    svg.addEventListener("pointermove", e => show(e, text(place(svg, e))));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  };
  watch(document.getElementById("gantt"), ganttText);
  document.querySelectorAll(".memory").forEach((svg, i) => watch(svg, p => memoryText(data.stores[i], p)));
})();
)js";
}

}  // namespace monet
