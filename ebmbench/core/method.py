"""The contract of a training method.

A method is one file `methods/<name>.py` that holds a pure objective (a function of the noise, so that a test
can choose it), a class `Settings`, and a class `Method` that draws the noise, keeps its state in parameters and
buffers, and calls the objective. Methods never import one another.
"""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import conditional
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw

NO_SCORE = "binary data have no score, which this method matches"
GAUSSIAN_NOISE = "its noise is continuous, and binary data are told from it at a glance"


class Settings(BaseModel):
    """The settings that every method has in `params.yaml: methods.<name>`; a method adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    model: str = Field("mlp", description="the energy network, a file in ebmbench/models")
    learning_rate: float = Field(1e-3, gt=0, description="peak of the schedule")


class Method(nn.Module):
    """Base of all methods: keeps the settings and the data's facts."""

    no_binary: ClassVar[str] = ""  # why the method does not apply to data of 0 and 1, if it does not
    no_real: ClassVar[str] = ""  # why it does not apply to other data
    needs_labels: ClassVar[bool] = False  # then `forward` takes the labels of the batch, `(B,)`, as a last argument

    def __init__(self, settings: Any, facts: Facts) -> None:
        super().__init__()
        self.settings = settings
        self.facts = facts
        self.last: dict[str, Tensor] = {}
        self.pace = 1.0  # the share of every learning rate that the schedule leaves at this step

    def observe(self, data: Tensor) -> None:
        """Look at the training set `(N, *event)` once, before `initialise`, for what the facts do not say."""

    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """Set up the state (chains, say) from named streams; the network has its first weights."""
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """The loss of one batch, a scalar to be minimised."""
        raise NotImplementedError

    def health(self) -> dict[str, float]:
        """Columns of the training history beside the loss: the scalars that `forward` put into `last`.

        It is called only when a row is logged.
        """
        return {name: value.item() for name, value in self.last.items()}

    def learned(self) -> dict[str, float]:
        """Numbers that were learned beside the energy, by name."""
        return {}

    @classmethod
    def skip(cls, settings: Any, facts: Facts) -> str | None:
        """Why this method does not apply to this dataset, or None if it does."""
        unlabelled = "the data have no labels, which this method learns" if cls.needs_labels else ""
        return (cls.no_binary if facts.binary else cls.no_real) or ("" if facts.classes else unlabelled) or None

    @classmethod
    def judged(cls, settings: Any, network: Any, facts: Facts) -> Any:
        """The energy (or score) that is judged: the network, or one of its noise levels (see `level`, `levels`)."""
        level = cls.level(settings, facts)
        return network if level is None or not conditional(network) else network.given(level)

    @classmethod
    def level(cls, settings: Any, facts: Facts) -> float | None:
        """The one noise level σ, in the data's units, that is trained and judged of a network that has levels.

        A method that gives one takes networks with levels beside those without, vector-valued scores among them.
        """
        return None

    @classmethod
    def levels(cls, settings: Any, facts: Facts) -> Tensor | None:
        """The noise levels σ that were learned, in the data's units, or None; several are judged by their flow."""
        return None

    @classmethod
    def own_sampler(cls, settings: Any) -> Any:
        """The settings of the sampler that belongs to the method, or None: then the suite's sampler is used."""
        return None

    @classmethod
    def starts_at_data(cls, settings: Any) -> bool:
        """Whether training chains start at data: then chains from data are a kind of samples of their own."""
        return False

    @classmethod
    def target(cls, settings: Any, density: Any, scale: float) -> Any:
        """The density that the method's optimum has when the data have `density`."""
        return density
