"""Trains the built-in models in torch and compares with MONET's training graph run by its interpreter.

    python3 gradients_vs_torch.py DUMP_ITERATION [--full] [--only TEXT]

Same weights, same batch on both sides. Compared are the losses of every step, every parameter's gradient of the first
step, and every weight, optimizer state and running statistic after the last one. Torch computes in double; MONET does
too, where only a mistake can exceed 1e-9, and then once more in float, from the same numbers. (Float against float
would blame us for torch's rounding: in MobileNetV2 it takes the other side of one ReLU6 and is 1.6% off.)

How errors are measured
  gradient   largest difference over the largest element of that gradient. Some gradients are zero by structure (the
             bias of attention's keys, which softmax does not see; the bias of a normalisation that another one follows)
             and hold nothing but rounding. A gradient below 1e-11 of the model's largest in torch must be below that
             (float: 1e-5) here too; it is then counted, and neither it nor its weight is compared further.
  weight     largest difference, less two units in the last place for every step, over the weight's largest change.
  state      of the optimizer: largest difference over the largest element.

Adam divides by the gradient's own size, so that an element whose gradient is mere rounding moves a full step in a
random direction. In double such gradients, 1e-17, disappear beside Adam's epsilon of 1e-8. In float they do not: float
cases of Adam are those of perceptrons and transformers (deep convolutional networks hand the random steps on,
amplified), and leave out elements whose first gradient is below 1e-4 of their tensor's largest, or 1e-6 of the
model's, but not zero; how many is printed.
"""
import argparse
import copy
import itertools
import tempfile
import warnings

from dumped import Tally, dump, load, torch
import torch_models

F = torch.nn.functional

# spec, batch
MODELS = [
    ("mlp:in=12,hidden=16,layers=2,classes=5", 4),
    ("resnet18:image=64,classes=10,width=16", 4),
    ("resnet18:stem=cifar,norm=group,groups=4,image=16,classes=10,width=8", 3),
    ("resnet50:norm=frozen,image=32,classes=10,width=8", 2),
    ("vgg11:image=32,classes=10,width=8,hidden=32", 2),
    ("unet:image=16,classes=3,width=4,levels=2", 2),
    ("mobilenet_v2:image=64,classes=5", 4),
    ("mobilenet_v3_large:image=64,classes=5", 4),
    ("vit_b_16:image=32,classes=5,layers=1,width=16,heads=2,mlp=24", 3),
    ("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16,positions=20", 2),
    ("gpt2-mini:seq=12,layers=3,width=16,heads=4,ff=24,vocab=50", 2),
    ("bert-base:layers=1,width=16,heads=2,vocab=50,seq=8,head=classify", 3),
    ("bert-base:layers=1,width=16,heads=2,vocab=50,seq=8,head=mlm", 2),
    ("llama2-7b:layers=2,width=16,heads=4,kv_heads=2,ff=24,vocab=40,seq=8", 2),
]
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgd:lr=0.1,wd=0.05": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "nesterov:wd=0.02": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.02),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True),
    "adam": torch.optim.Adam,
    "adam:lr=0.01,beta1=0.8,beta2=0.99,eps=1e-6,wd=0.1":
        lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1),
    "adamw": torch.optim.AdamW,
    "adamw:wd=0.3": lambda p: torch.optim.AdamW(p, weight_decay=0.3),
}
PLAIN = ("sgd", "momentum", "nesterov", "adam", "adamw")
STATES = {"exp_avg": ".m", "exp_avg_sq": ".v", "momentum_buffer": ".velocity"}  # torch's name: ours

LIMITS = {
    "float": {"gradients": 1e-4, "weights": 2e-3, "optimizer": 1e-3, "statistics": 1e-5, "losses": 1e-5},
    "double": {"gradients": 1e-9, "weights": 1e-6, "optimizer": 1e-8, "statistics": 1e-8, "losses": 1e-9},
    # A file states constants (1/6, the scale of attention) in float.
    "onnx": {"gradients": 1e-6, "weights": 1e-6, "optimizer": 1e-6, "statistics": 1e-7, "losses": 1e-7},
}


class ExactHardSigmoid(torch.nn.Module):
    def forward(self, x):
        return F.relu6(x + 3) / 6


def with_exact_sixths(model):
    """Torch's gradient of hardsigmoid multiplies by 1/6 rounded to float, in double too."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, torch.nn.Hardsigmoid):
                setattr(module, name, ExactHardSigmoid())
    return model


class Training:
    """The same iterations in torch."""

    def __init__(self, model, d, options):
        self.model, self.d = model.double().train(), d
        load(self.model, d)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(options.get("train") != "last" or name in d.gradients)
        self.optimizer = OPTIMIZERS[options.get("optimizer", "sgd")](
            [p for p in self.model.parameters() if p.requires_grad])
        self.clip = options.get("clip")
        self.parts = options.get("microbatches", 1)
        self.loss = F.mse_loss if options.get("loss") == "mse" else F.cross_entropy
        self.norms = []

    def step(self):
        self.optimizer.zero_grad()
        total = 0.0
        values = (*self.d.inputs.values(), self.d.target)
        pieces = [(v.double() if v.is_floating_point() else v).chunk(self.parts) for v in values]
        for *inputs, target in zip(*pieces):
            loss = self.loss(self.model(*inputs), target) / self.parts
            loss.backward()
            total += loss.item()
        gradients = {n: p.grad.clone() for n, p in self.model.named_parameters() if p.grad is not None}
        if self.clip:
            parameters = [p for p in self.model.parameters() if p.grad is not None]
            self.norms.append(torch.nn.utils.clip_grad_norm_(parameters, self.clip).item())
        self.optimizer.step()
        return total, gradients


class Worst:
    """The largest error seen, and where."""

    def __init__(self):
        self.error, self.name = 0.0, "nothing"

    def see(self, difference, scale, name):
        error = (difference.abs().max() / scale).item() if difference.numel() else 0.0
        if not error <= self.error:  # also if it is no number
            self.error, self.name = error, name


def without_structure(ours, theirs, dtype):
    """Names of the gradients that are zero by structure; an exception if only one side thinks so."""
    if ours.keys() != theirs.keys():
        raise RuntimeError(f"gradients on one side only: {sorted(ours.keys() ^ theirs.keys())}")
    largest = max(g.abs().max().item() for g in theirs.values())
    zero = {name for name, g in theirs.items() if g.abs().max().item() < 1e-11 * largest}
    for name in zero:
        if not ours[name].abs().max().item() < (1e-5 if dtype == torch.float32 else 1e-11) * largest:
            raise RuntimeError(f"the gradient of {name} is zero in torch only")
    return zero


def compare_gradients(ours, theirs, zero):
    worst = Worst()
    for name, gradient in theirs.items():
        if name not in zero:
            worst.see(ours[name] - gradient, gradient.abs().max(), name)
    return worst


def directed(gradient, largest):
    """Elements whose first gradient stands out from the rounding, in float."""
    size = gradient.abs()
    return (size == 0) | (size >= max(1e-4 * size.max().item(), 1e-6 * largest))


def compare_weights(training, gradients, zero, steps, select):
    d, worst, skipped = training.d, Worst(), 0
    largest = max(g.abs().max().item() for g in gradients.values())
    for name, parameter in training.model.named_parameters():
        if name not in gradients or name in zero:
            continue
        theirs = parameter.detach()
        storing = 2 * steps * torch.finfo(d.dtype).eps * theirs.abs()
        difference = ((d.after[name] - theirs).abs() - storing).clamp(min=0)
        change = (theirs - d.weights[name]).abs()
        if select:
            counts = directed(gradients[name], largest)
            skipped += int((~counts).sum())
            difference, change = difference[counts], change[counts]
        worst.see(difference, change.max(), name)
    return worst, skipped


def compare_optimizer(training, zero):
    worst = Worst()
    for name, parameter in training.model.named_parameters():
        for theirs, value in training.optimizer.state.get(parameter, {}).items():
            if theirs in STATES and value is not None and name not in zero:
                worst.see(training.d.after[name + STATES[theirs]] - value, value.abs().max(), name + STATES[theirs])
    return worst


def compare_statistics(training):
    worst, buffers = Worst(), dict(training.model.named_buffers())
    for name, value in training.d.after.items():
        if name in training.d.states:
            worst.see(value - buffers[name], buffers[name].abs().max(), name)
    return worst


def compare_losses(ours, theirs):
    worst = Worst()
    worst.see(torch.tensor(ours) / torch.tensor(theirs) - 1, 1.0, "loss")
    return worst


def dump_exported(binary, spec, model, options):
    """The dump of what MONET makes of the ONNX file torch writes of this model."""
    model = model.float().train()
    with torch.no_grad():
        for value in itertools.chain(model.parameters(), model.buffers()):
            if value.is_floating_point() and value.dim() == 1:  # biases, scales, running statistics
                value.add_(0.25 * torch.rand_like(value))
    inputs = torch_models.example_inputs(spec, options["batch"])
    inputs = tuple(x.float() if x.is_floating_point() else x for x in inputs)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about exporting in training mode
        path = f"{folder}/model.onnx"
        torch.onnx.export(model, inputs, path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          opset_version=15)
        return dump(binary, path, **{key: value for key, value in options.items() if key != "batch"})


def run_case(binary, spec, model, options, tally):
    onnx, options = options.get("through") == "onnx", {k: v for k, v in options.items() if k != "through"}
    d = dump_exported(binary, spec, copy.deepcopy(model), options) if onnx else dump(binary, spec, **options)
    training = Training(model, d, options)
    losses, first = [], None
    for _ in range(options["steps"]):
        loss, gradients = training.step()
        losses.append(loss)
        first = first or gradients
    zero = without_structure(d.gradients, first, d.dtype)
    select = options["optimizer"].startswith("adam") and d.dtype == torch.float32
    weights, skipped = compare_weights(training, first, zero, options["steps"], select)
    found = {"gradients": compare_gradients(d.gradients, first, zero), "weights": weights,
             "optimizer": compare_optimizer(training, zero), "statistics": compare_statistics(training),
             "losses": compare_losses(d.losses, losses)}
    limits = LIMITS["onnx" if onnx else options["number"]]
    faults = [f"{what} of {worst.name}" for what, worst in found.items() if not worst.error <= limits[what]]
    text = ", ".join(f"{what} {worst.error:.1e}" for what, worst in found.items() if worst.name != "nothing")
    if 4 * len(zero) > len(first):
        faults.append("the case itself: most gradients vanish")
    if zero:
        text += f"; {len(zero)} of {len(first)} gradients zero by structure"
    if skipped:
        text += f"; {skipped} of {sum(g.numel() for g in first.values())} elements without a direction left out"
    if training.clip:
        norm = training.norms[0]
        text += f"; norm {norm:.3g}, limit {training.clip}"
        if (norm > training.clip) != (training.clip < 1):
            faults.append("the case itself: it should clip if its limit is below 1, and only then")
    if faults:
        text += "; WRONG: " + ", ".join(faults)
    tally.report(not faults, f"{show(spec, options, onnx)}: {text}")


def show(spec, options, onnx=False):
    return " ".join([spec, *(f"{key}={value}" for key, value in options.items()), *(["through ONNX"] if onnx else [])])


def named(name):
    return next((spec, batch) for spec, batch in MODELS if spec.startswith(name + ":"))


def gradient_cases(full):
    for (spec, batch), number, save in itertools.product(MODELS, ("double", "float"), ("lean", "torch")):
        if not full and spec.startswith("mobilenet") and (number, save) in (("double", "lean"), ("float", "torch")):
            continue  # the slowest models
        yield spec, {"batch": batch, "number": number, "save": save, "optimizer": "sgd", "steps": 1}


def optimizer_cases(full):
    for (spec, batch), optimizer in itertools.product(MODELS, OPTIMIZERS):
        name = spec.split(":")[0]
        heavy = name.startswith("mobilenet") and optimizer != {"mobilenet_v2": "momentum"}.get(name, "adamw")
        if full or (not heavy and (optimizer in PLAIN or name in ("mlp", "gpt2"))):
            yield spec, {"batch": batch, "number": "double", "optimizer": optimizer, "steps": 3}
        convolutional = name.startswith(("resnet", "vgg", "mobilenet", "unet"))
        if optimizer in PLAIN and not convolutional and (full or optimizer == "adamw"):
            yield spec, {"batch": batch, "number": "float", "optimizer": optimizer, "steps": 3}


def other_cases():
    for name in ("gpt2", "resnet18"):
        spec, batch = named(name)
        common = {"batch": batch, "number": "double", "steps": 3}
        for clip, optimizer in ((0.1, "momentum"), (1000.0, "momentum"), (0.1, "adamw")):
            yield spec, {**common, "clip": clip, "optimizer": optimizer}
        yield spec, {**common, "batch": 2 * batch, "microbatches": 2, "optimizer": "momentum"}
    spec, batch = named("gpt2")
    yield spec, {"batch": batch, "number": "float", "clip": 0.1, "optimizer": "momentum", "steps": 3}
    yield spec, {"batch": 2 * batch, "number": "float", "microbatches": 2, "optimizer": "momentum", "steps": 3}
    yield spec, {"batch": 4, "number": "double", "microbatches": 4, "clip": 0.1, "optimizer": "adamw", "steps": 3}
    for name in ("gpt2", "vit_b_16", "llama2-7b"):
        yield named(name)[0], {"batch": 2, "number": "double", "attention": "online", "optimizer": "adam", "steps": 3}
    for name, extra in itertools.product(("mlp", "vit_b_16"), ({"loss": "mse"}, {"train": "last"})):
        yield named(name)[0], {"batch": 2, "number": "double", **extra, "optimizer": "adam", "steps": 3}


def onnx_cases():
    for spec, batch in MODELS:
        yield spec, {"batch": batch, "number": "double", "optimizer": "momentum", "steps": 1, "through": "onnx"}


def large_cases():
    for spec in ("resnet50:image=96,classes=100", "resnet34:image=64", "mobilenet_v3_small:image=96"):
        yield spec, {"batch": 2, "number": "double", "optimizer": "momentum", "steps": 2}
    for spec in ("gpt2:layers=3,width=192,heads=6,seq=64", "bert-base:layers=2,seq=64,vocab=1000,head=mlm",
                 "llama2-7b:layers=2,width=256,heads=8,kv_heads=8,ff=512,vocab=500,seq=64"):
        yield spec, {"batch": 2, "number": "double", "optimizer": "adamw", "steps": 2}
        yield spec, {"batch": 2, "number": "float", "optimizer": "sgd", "steps": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary", help="the built dump_iteration")
    parser.add_argument("--full", action="store_true", help="every optimizer on every model, and larger models")
    parser.add_argument("--only", default="", help="only cases whose specification and options contain this")
    arguments = parser.parse_args()
    tally, models = Tally(), {}
    torch.set_default_dtype(torch.float64)  # constant tables of the models as exact as ours
    full = arguments.full
    for spec, options in itertools.chain(gradient_cases(full), optimizer_cases(full), other_cases(), onnx_cases(),
                                         large_cases() if full else ()):
        if arguments.only not in show(spec, options):
            continue
        if spec not in models:
            torch.manual_seed(1)
            models[spec] = with_exact_sixths(torch_models.make(spec))
        try:
            run_case(arguments.binary, spec, copy.deepcopy(models[spec]), options, tally)
        except RuntimeError as error:
            tally.report(False, f"{show(spec, options)}: {error}")
    tally.close()


if __name__ == "__main__":
    main()
