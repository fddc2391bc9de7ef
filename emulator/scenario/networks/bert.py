"""BERT-base: Devlin, Chang, Lee and Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019,
section 3 (12 blocks, 768 wide, 12 heads); the vocabulary of 30,522 words is that of the published uncased model."""

from ringhil.emulator.scenario.networks.convolutions import Layers
from ringhil.emulator.scenario.networks.layer import FLOAT, Layer

_BLOCKS, _WIDTH, _HEADS, _INNER = 12, 768, 12, 3072
_WORDS, _PLACES, _SEGMENTS = 30_522, 512, 2
_NORMALISATION = 2 * _WIDTH


def bert_base(words: int = 251) -> tuple[Layer, ...]:
    """Texts of `words` words. To look words up takes no operations, and reads a large table."""
    net = Layers()
    vectors = FLOAT * _WIDTH * words
    embeddings = (("words", _WORDS, 0), ("places", _PLACES, 0), ("segments", _SEGMENTS, _NORMALISATION))
    for name, rows, extra in embeddings:
        net.made.append(Layer(f"embeddings.{name}", FLOAT * (rows * _WIDTH + extra), vectors, 0))
    for number in range(1, _BLOCKS + 1):
        block = f"block{number}"
        for name in ("query", "key", "value"):
            net.linear(f"{block}.{name}", _WIDTH, _WIDTH, words)
        # Each word with each: scores and their sums, over all heads as much as over one of the whole width.
        scores = FLOAT * _HEADS * words**2
        net.made.append(Layer(f"{block}.attention", 0, scores + vectors, 2 * 2 * words**2 * _WIDTH))
        net.linear(f"{block}.output", _WIDTH, _WIDTH, words, _NORMALISATION)
        net.linear(f"{block}.wider", _WIDTH, _INNER, words)
        net.linear(f"{block}.narrower", _INNER, _WIDTH, words, _NORMALISATION)
    net.linear("pooler", _WIDTH, _WIDTH)
    return tuple(net.made)
