"""Writes the tables of published networks: `python -m ringhil.emulator.scenario.networks`."""

from ringhil.emulator.scenario.networks.published import bert_base, inception_v3, resnet_152
from ringhil.emulator.scenario.networks.table import TABLES, table_text

NETWORKS = {
    "resnet-152": (
        "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016, table 1; images of 224 x 224",
        resnet_152,
    ),
    "inception-v3": (
        "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, Rethinking the Inception Architecture for Computer Vision, CVPR"
        " 2016, table 1, without the auxiliary classifier; images of 299 x 299",
        inception_v3,
    ),
    "bert-base": (
        "Devlin, Chang, Lee, Toutanova, BERT, NAACL 2019, section 3; words of the uncased model; texts of 251 words",
        bert_base,
    ),
}


def texts() -> dict[str, str]:
    """By name: what their files must say."""
    return {name: table_text(source, network()) for name, (source, network) in NETWORKS.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (TABLES / f"{name}.yaml").write_text(text)
