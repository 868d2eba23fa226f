"""What torch keeps for the backward pass, tensor by tensor, against MONET's saving policy `torch` (fp32).

    python3 saved_vs_torch.py DUMP_ITERATION [--full] [--only TEXT]

Torch's side is seen by torch.autograd.graph.saved_tensors_hooks while it runs the model and the loss. What counts is
storage: a saved view keeps all of the storage it looks into alive, and several views of one storage keep it once.
Storages of parameters and buffers are left out, they stay anyway. MONET's side is the list of saved activations of the
training graph, views followed back to what they look into.

Compared are not the totals but the two multisets of sizes in bytes: tensor for tensor they must be equal, but for the
differences of EXPLAINED. Each of those states exactly which sizes it takes out on which side, and is printed with its
bytes, so that nothing else can hide behind it.
"""
import argparse
import collections
import re

from dumped import Tally, dump, torch
import torch_models

F = torch.nn.functional
FLOAT = 4

# spec, batch, further options; "torchvision" takes torchvision's own module, with its activations in place
CASES = [
    ("mlp:in=12,hidden=16,layers=2,classes=5", 4, {}),
    ("mlp:in=12,hidden=16,layers=2,classes=5", 4, {"loss": "mse"}),
    ("resnet18:image=64,classes=10,width=16", 4, {}),
    ("resnet18:image=64,classes=10,width=16", 4, {"train": "bias$"}),
    ("resnet18:image=64,classes=10,width=16", 4, {"train": "layer3.*conv|fc"}),
    ("resnet18:stem=cifar,norm=group,groups=4,image=16,classes=10,width=8", 3, {}),
    ("resnet18:stem=cifar,norm=folded,image=16,classes=10,width=8", 3, {}),
    ("resnet50:norm=frozen,image=32,classes=10,width=8", 2, {}),
    ("resnet50:norm=frozen,image=32,classes=10,width=8", 2, {"train": "conv"}),
    ("resnet50", 2, {}),
    ("resnet50", 2, {"torchvision": True}),
    ("mobilenet_v2", 2, {"torchvision": True}),
    ("mobilenet_v2:image=64,classes=5,dropout=0.2", 4, {"torchvision": True}),
    ("mobilenet_v3_large:image=64,classes=5", 4, {"torchvision": True}),
    ("mobilenet_v3_large:image=64,classes=5", 4, {"torchvision": True, "train": "bias$"}),
    ("mobilenet_v3_small:image=96,classes=5,dropout=0.2", 2, {"torchvision": True}),
    ("vit_b_16:image=32,classes=5,layers=1,width=16,heads=2,mlp=24", 3, {}),
    ("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16,positions=20", 2, {}),
    ("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16,positions=20", 1, {}),
    ("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16,positions=20", 2, {"train": "bias$"}),
    ("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16,positions=20,dropout=0.1", 2, {}),
    ("gpt2-mini:seq=12,layers=3,width=16,heads=4,ff=24,vocab=50", 2, {}),
    ("bert-base:layers=1,width=16,heads=2,vocab=50,seq=8,head=classify", 3, {}),
    ("bert-base:layers=2,width=16,heads=2,vocab=50,seq=8,head=classify,dropout=0.1", 3, {}),
    ("bert-base:layers=1,width=16,heads=2,vocab=50,seq=8,head=mlm", 2, {}),
    ("llama2-7b:layers=2,width=16,heads=4,kv_heads=4,ff=24,vocab=40,seq=8", 2, {}),
    ("llama2-7b:layers=2,width=16,heads=4,kv_heads=2,ff=24,vocab=40,seq=8", 2, {}),
]
FULL_CASES = [
    ("resnet18", 2, {"torchvision": True}),
    ("resnet34", 2, {"torchvision": True}),
    ("mobilenet_v3_large", 2, {"torchvision": True}),
    ("mobilenet_v3_small", 2, {"torchvision": True}),
    ("vit_b_16", 2, {}),
    ("gpt2:seq=256,positions=1024,dropout=0.1", 2, {}),
    ("gpt2-mini", 2, {}),
    ("bert-base:seq=128,head=mlm,dropout=0.1", 2, {}),
    ("llama2-7b:layers=2,width=512,heads=8,kv_heads=2,ff=1376,vocab=4000,seq=128", 2, {}),
]

# ---- Differences ----


class Difference:
    """Sizes in bytes that only one side has."""

    def __init__(self, torch_has=(), monet_has=()):
        self.torch = collections.Counter(torch_has)
        self.monet = collections.Counter(monet_has)

    def bytes(self):
        return sum(self.torch.elements()) - sum(self.monet.elements())


class Case:
    """A case's sizes, for the formulas below."""

    def __init__(self, spec, batch, extra):
        self.name, self.o = torch_models.parse(spec)
        self.batch, self.extra = batch, extra
        o = self.o
        self.transformer = "heads" in o
        if self.transformer:
            self.tokens = (o["image"] // 16)**2 + 1 if "image" in o else o["seq"]
            self.hidden = FLOAT * batch * self.tokens * o["width"]  # bytes of one activation [batch, tokens, width]
            self.scores = FLOAT * batch * o["heads"] * self.tokens**2


def divisor_of_the_loss(case):
    return Difference() if case.extra.get("loss") == "mse" else Difference([FLOAT])


def python_scalars(case):
    if not case.transformer:
        return Difference()
    return Difference([8] * (case.o["layers"] + (case.name == "gpt2-mini")))


def input_of_the_mean(case):
    if not case.name.startswith("mobilenet"):
        return Difference()
    channels = {"mobilenet_v2": 1280, "mobilenet_v3_large": 960, "mobilenet_v3_small": 576}[case.name]
    edge = (case.o["image"] + 31) // 32
    return Difference([FLOAT * case.batch * channels * edge**2])


def whole_behind_a_slice(case):
    if case.name != "vit_b_16" and case.o.get("head") not in ("none", "classify"):
        return Difference()
    return Difference([case.hidden], [FLOAT * case.batch * case.o["width"]])


def noise_of_dropout(case):
    if not case.o.get("dropout"):
        return Difference()
    if case.name.startswith("mobilenet"):
        sizes = [FLOAT * case.batch * {"mobilenet_v3_small": 1024}.get(case.name, 1280)]
    else:
        sizes = [case.hidden] + case.o["layers"] * [case.scores, case.hidden, case.hidden]
        if case.o.get("head") == "classify":
            sizes.append(FLOAT * case.batch * case.o["width"])
    return Difference(sizes, [size // FLOAT for size in sizes])


def written_out_rms_norm(case):
    if not case.name.startswith("llama"):
        return Difference()
    return Difference([case.hidden] * 2 * (2 * case.o["layers"] + 1))


def repeated_heads(case):
    if not case.name.startswith("llama") or case.o["kv_heads"] == case.o["heads"]:
        return Difference()
    group = case.o["heads"] // case.o["kv_heads"]
    return Difference([case.hidden] * 2 * case.o["layers"], [case.hidden // group] * 2 * case.o["layers"])


def packed_projection(case):
    if case.batch > 1 or not case.name.startswith("gpt2"):
        return Difference()
    return Difference([3 * case.hidden] * case.o["layers"], [case.hidden] * 3 * case.o["layers"])


def operands_of_mse(case):
    if case.extra.get("loss") != "mse":
        return Difference()
    size = FLOAT * case.batch * case.o["classes"]
    return Difference([size, size], [size])


EXPLAINED = {
    "divisor of the loss": (
        divisor_of_the_loss, "nll_loss keeps its total weight, one number; we divide by a constant"),
    "Python scalars": (
        python_scalars, "x * 0.5 keeps 0.5 as a tensor of one double; our constants are not activations"),
    "input of the mean": (
        input_of_the_mean, "torch 1.13 keeps the input of mean(dim) for its size alone; later versions keep the size. "
        "It shows where nothing else keeps it: behind a ReLU6 or hard-swish"),
    "whole behind a slice": (
        whole_behind_a_slice, "x[:, 0] is a view: the whole of x stays. Our Slice is a tensor of its own"),
    "noise of dropout": (
        noise_of_dropout, "on the CPU torch writes dropout as x * noise and keeps the noise in float; on a GPU, and in "
        "our policy, a mask of one byte an element"),
    "written-out RMSNorm": (
        written_out_rms_norm, "torch 1.13 has no RMSNorm: the product with the weight keeps x/rms, and mean(dim) keeps "
        "x², see above. Our fused one keeps x and 1/rms"),
    "repeated heads": (
        repeated_heads, "expand().reshape() copies keys and values for every head of a group; our Expand is a view"),
    "packed projection": (
        packed_projection, "with batch 1 the heads need no copy: q, k and v stay views of the packed projection. The "
        "same bytes in one storage instead of three"),
    "operands of the squared error": (
        operands_of_mse, "mse_loss keeps both operands; we keep their difference"),
}

# ---- The two sides ----


def make(spec, extra):
    name, o = torch_models.parse(spec)
    if not extra.get("torchvision") or name.startswith("mobilenet"):
        return torch_models.make(spec)  # of MobileNets this is torchvision's own
    import torchvision
    return getattr(torchvision.models, name)(num_classes=o["classes"])


def saved_by_torch(spec, batch, extra):
    """Sizes of the storages torch keeps."""
    torch.manual_seed(1)
    model = make(spec, extra).train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(bool(re.search(extra.get("train", ""), name)))
    permanent = {t.storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    storages, alive = {}, []  # a freed tensor's address could come again

    def pack(tensor):
        storage = tensor.storage()
        if storage.data_ptr() not in permanent and storage.nbytes():
            storages[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = model(*torch_models.example_inputs(spec, batch))
        if extra.get("loss") == "mse":
            F.mse_loss(y, torch.zeros_like(y))
        else:
            F.cross_entropy(y, torch.zeros(y.shape[0], dtype=torch.long))
    return collections.Counter(storages.values())


def saved_by_monet(binary, spec, batch, extra):
    options = {key: value for key, value in extra.items() if key != "torchvision"}
    d = dump(binary, spec, batch=batch, steps=0, save="torch", optimizer="sgd", **options)
    return collections.Counter(entry["bytes"] for entry in d.saved)


def run_case(binary, spec, batch, extra, tally):
    theirs, ours = saved_by_torch(spec, batch, extra), saved_by_monet(binary, spec, batch, extra)
    totals = [sum(side.elements()) for side in (theirs, ours)]
    case, parts, faults = Case(spec, batch, extra), [], []
    for name, (formula, _) in EXPLAINED.items():
        difference = formula(case)
        if difference.torch - theirs or difference.monet - ours:
            faults.append(f"'{name}' explains what is not there")
        theirs, ours = theirs - difference.torch, ours - difference.monet
        if difference.torch or difference.monet:
            parts.append(f"{name} {difference.bytes():+d}")
    for side, rest in (("torch", theirs - ours), ("MONET", ours - theirs)):
        if rest:
            faults.append(f"{side} alone keeps " + ", ".join(f"{n} x {size} bytes" for size, n in sorted(rest.items())))
    options = "".join(f" {key}={value}" for key, value in extra.items())
    text = f"{spec} batch={batch}{options}: torch {totals[0]}, MONET {totals[1]} bytes"
    text += f", the same but for {', '.join(parts)}" if parts and not faults else ""
    tally.report(not faults, text + "".join(f"; WRONG: {fault}" for fault in faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary", help="the built dump_iteration")
    parser.add_argument("--full", action="store_true", help="more models in their full size")
    parser.add_argument("--only", default="", help="only specifications that contain this")
    arguments = parser.parse_args()
    tally = Tally()
    for spec, batch, extra in CASES + (FULL_CASES if arguments.full else []):
        if arguments.only not in spec:
            continue
        try:
            run_case(arguments.binary, spec, batch, extra, tally)
        except RuntimeError as error:
            tally.report(False, f"{spec}: {error}")
    for name, (_, reason) in EXPLAINED.items():
        print(f"{name}: {reason}")
    tally.close()


if __name__ == "__main__":
    main()
