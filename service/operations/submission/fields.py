"""Which fields a request of each kind has."""

from __future__ import annotations

from service.operations.submission.asked import Asked

_BESIDE_LEARNER = ("target", "features", "excluded", "weights", "evaluation")
_LEARNING = ("learner", "parameters", *_BESIDE_LEARNER)
#: Beside ``kind``, ``dataset`` and ``seed``, which every kind has.
FIELDS: dict[str, tuple[str, ...]] = {
    "train": (*_LEARNING, "model"),
    "cross-validate": (*_LEARNING, "output"),
    "select": (*_LEARNING, "selection", "model"),
    "learning-curve": (*_LEARNING, "shares"),
    "bias-variance": (*_LEARNING, "rounds"),
    "description-length": ("target", "learner", "parameters", "features", "excluded"),
    "compare": (*_BESIDE_LEARNER, "learners", "reference", "output"),
    "evaluate": ("version", "against", "weights", "evaluation"),
    "predict": ("version", "output"),
}
KINDS = tuple(FIELDS)
#: Kinds that fit a learner which the request names.
LEARNING_KINDS = ("train", "cross-validate", "select", "learning-curve", "bias-variance", "description-length")
_NEEDED = {kind: ("target", "learner") if kind in LEARNING_KINDS else ("version",) for kind in KINDS}
_NEEDED["compare"] = ("learners",)
_OF_ALL = ("kind", "dataset", "seed")


def check_fields(asked: Asked) -> None:
    """Refuse fields that the request's kind does not have, and name those that it lacks."""
    kind = str(asked.request.get("kind"))
    if kind not in FIELDS:
        return
    if asked.request.get("model") is not None and kind == "cross-validate":
        asked.refuse("a cross-validation makes no model", "model")
    for name, value in asked.request.items():
        if value is None or name in (*_OF_ALL, *FIELDS[kind]) or (name == "model" and kind == "cross-validate"):
            continue
        owners = [owner for owner, fields in FIELDS.items() if name in fields]
        asked.refuse(f"{name} has no effect in a job {kind}; it is of {', '.join(owners)}", name, allowed=owners)
    needed = [name for name in _NEEDED[kind] if name != "target" or asked.is_supervised]
    for name in needed:
        if asked.request.get(name) is None:
            asked.refuse(f"a job {kind} needs {name}", name)
