#!/usr/bin/env python3
"""Compares what the program knows of the keys of config.json (`ruvllm info --keys`) with what the
configuration and model classes of transformers read. A key that a class has and that the program
lists nowhere fails: it would be taken for one that changes nothing.

    python tests/oracle/compare_config_keys.py --program ruvllm              the installed transformers
    python tests/oracle/compare_config_keys.py --program ruvllm --write      … and writes config_keys.json
    python tests/oracle/compare_config_keys.py --program ruvllm --snapshot   config_keys.json, without it

Keys of a class: the fields of its configuration class, their other names, and what its modeling file
reads of `config`. Keys of the machinery around it: what masking_utils.py reads, and the members of
RopeParameters.
"""
import argparse
import ast
import json
import pathlib
import subprocess
import sys

SNAPSHOT = pathlib.Path(__file__).with_name("config_keys.json")
# model_type: folder in transformers/models, configuration class
CLASSES = {
    "llama": ("llama", "LlamaConfig"), "mistral": ("mistral", "MistralConfig"),
    "mixtral": ("mixtral", "MixtralConfig"), "qwen2": ("qwen2", "Qwen2Config"),
    "qwen3": ("qwen3", "Qwen3Config"), "gemma": ("gemma", "GemmaConfig"),
    "gemma2": ("gemma2", "Gemma2Config"), "gemma3_text": ("gemma3", "Gemma3TextConfig"),
    "gemma3": ("gemma3", "Gemma3Config"),
    "biogpt": ("biogpt", "BioGptConfig"), "openai-gpt": ("openai", "OpenAIGPTConfig"),
    "exaone4_5": ("exaone4_5", "Exaone4_5_Config"),
    "gemma4_unified_text": ("gemma4_unified", "Gemma4UnifiedTextConfig"),
    "gemma4_unified": ("gemma4_unified", "Gemma4UnifiedConfig"),
    "exaone": ("exaone", "ExaoneConfig"), "cwm": ("cwm", "CwmConfig"),
    "gemma3n_text": ("gemma3n", "Gemma3nTextConfig"), "gemma3n": ("gemma3n", "Gemma3nConfig"),
    "zamba2": ("zamba2", "Zamba2Config"),
    "gemma4_text": ("gemma4", "Gemma4TextConfig"), "gemma4": ("gemma4", "Gemma4Config"), "phi3": ("phi3", "Phi3Config"),
    "gpt2": ("gpt2", "GPT2Config"), "starcoder2": ("starcoder2", "Starcoder2Config"),
    "lfm2": ("lfm2", "Lfm2Config"), "qwen3_moe": ("qwen3_moe", "Qwen3MoeConfig"),
    "olmo": ("olmo", "OlmoConfig"), "olmo2": ("olmo2", "Olmo2Config"),
    "granite": ("granite", "GraniteConfig"), "smollm3": ("smollm3", "SmolLM3Config"),
    "cohere": ("cohere", "CohereConfig"), "cohere2": ("cohere2", "Cohere2Config"),
    "stablelm": ("stablelm", "StableLmConfig"), "nemotron": ("nemotron", "NemotronConfig"),
    "arcee": ("arcee", "ArceeConfig"), "glm": ("glm", "GlmConfig"), "glm4": ("glm4", "Glm4Config"),
    "exaone4": ("exaone4", "Exaone4Config"), "phi": ("phi", "PhiConfig"),
    "seed_oss": ("seed_oss", "SeedOssConfig"), "ernie4_5": ("ernie4_5", "Ernie4_5Config"),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", "HunYuanDenseV1Config"),
    "helium": ("helium", "HeliumConfig"),
    "qwen3_next": ("qwen3_next", "Qwen3NextConfig"),
    "qwen3_5_moe_text": ("qwen3_5_moe", "Qwen3_5MoeTextConfig"),
    "qwen3_5_moe": ("qwen3_5_moe", "Qwen3_5MoeConfig"),
    "olmo_hybrid": ("olmo_hybrid", "OlmoHybridConfig"),
    "recurrent_gemma": ("recurrent_gemma", "RecurrentGemmaConfig"),
    "rwkv": ("rwkv", "RwkvConfig"),
    "mamba": ("mamba", "MambaConfig"), "falcon_mamba": ("falcon_mamba", "FalconMambaConfig"),
    "mamba2": ("mamba2", "Mamba2Config"), "bamba": ("bamba", "BambaConfig"),
    "granitemoehybrid": ("granitemoehybrid", "GraniteMoeHybridConfig"),
    "falcon_h1": ("falcon_h1", "FalconH1Config"), "jamba": ("jamba", "JambaConfig"),
    "nemotron_h": ("nemotron_h", "NemotronHConfig"),
    "kimi_linear": ("kimi_linear", "KimiLinearConfig"),
    "qwen3_5_text": ("qwen3_5", "Qwen3_5TextConfig"), "qwen3_5": ("qwen3_5", "Qwen3_5Config"),
    "qwen2_moe": ("qwen2_moe", "Qwen2MoeConfig"), "olmoe": ("olmoe", "OlmoeConfig"),
    "granitemoe": ("granitemoe", "GraniteMoeConfig"),
    "granite_swa": ("granite_swa", "GraniteSWAConfig"),
    "granitemoe_swa": ("granitemoe_swa", "GraniteMoeSWAConfig"),
    "dbrx": ("dbrx", "DbrxConfig"), "mpnet": ("mpnet", "MPNetConfig"),
    "deberta-v2": ("deberta_v2", "DebertaV2Config"),
    "granitemoeshared": ("granitemoeshared", "GraniteMoeSharedConfig"),
    "albert": ("albert", "AlbertConfig"),
    "modernbert-decoder": ("modernbert_decoder", "ModernBertDecoderConfig"),
    "t5gemma": ("t5gemma", "T5GemmaConfig"),
    "t5": ("t5", "T5Config"), "mt5": ("mt5", "MT5Config"), "umt5": ("umt5", "UMT5Config"),
    "glm4_moe": ("glm4_moe", "Glm4MoeConfig"), "dots1": ("dots1", "Dots1Config"),
    "ernie4_5_moe": ("ernie4_5_moe", "Ernie4_5_MoeConfig"),
    "hunyuan_v1_moe": ("hunyuan_v1_moe", "HunYuanMoEV1Config"),
    "solar_open": ("solar_open", "SolarOpenConfig"),
    "minimax_m2": ("minimax_m2", "MiniMaxM2Config"), "lfm2_moe": ("lfm2_moe", "Lfm2MoeConfig"),
    "flex_olmo": ("flex_olmo", "FlexOlmoConfig"), "exaone_moe": ("exaone_moe", "ExaoneMoeConfig"),
    "hy_v3": ("hy_v3", "HYV3Config"), "phimoe": ("phimoe", "PhimoeConfig"),
    "afmoe": ("afmoe", "AfmoeConfig"),
    "minicpm3": ("minicpm3", "MiniCPM3Config"),
    "deepseek_v2": ("deepseek_v2", "DeepseekV2Config"),
    "deepseek_v3": ("deepseek_v3", "DeepseekV3Config"),
    "deepseek_v32": ("deepseek_v32", "DeepseekV32Config"),
    "glm_moe_dsa": ("glm_moe_dsa", "GlmMoeDsaConfig"),
    "glm4_moe_lite": ("glm4_moe_lite", "Glm4MoeLiteConfig"),
    "youtu": ("youtu", "YoutuConfig"), "ministral3": ("ministral3", "Ministral3Config"),
    "gpt_oss": ("gpt_oss", "GptOssConfig"),
    "jais2": ("jais2", "Jais2Config"), "vaultgemma": ("vaultgemma", "VaultGemmaConfig"),
    "gpt_neo": ("gpt_neo", "GPTNeoConfig"), "nanochat": ("nanochat", "NanoChatConfig"),
    "persimmon": ("persimmon", "PersimmonConfig"), "bitnet": ("bitnet", "BitNetConfig"),
    "hyperclovax": ("hyperclovax", "HyperCLOVAXConfig"),
    "apertus": ("apertus", "ApertusConfig"), "mistral4": ("mistral4", "Mistral4Config"),
    "llama4_text": ("llama4", "Llama4TextConfig"), "llama4": ("llama4", "Llama4Config"),
    "ministral": ("ministral", "MinistralConfig"),
    "iquestcoder": ("iquestcoder", "IQuestCoderConfig"),
    "olmo3": ("olmo3", "Olmo3Config"), "internlm3": ("internlm3", "InternLM3Config"),
    "gpt_neox": ("gpt_neox", "GPTNeoXConfig"),
    "falcon": ("falcon", "FalconConfig"), "bloom": ("bloom", "BloomConfig"),
    "mpt": ("mpt", "MptConfig"), "opt": ("opt", "OPTConfig"), "gptj": ("gptj", "GPTJConfig"),
    "codegen": ("codegen", "CodeGenConfig"), "gpt_bigcode": ("gpt_bigcode", "GPTBigCodeConfig"),
    "bert": ("bert", "BertConfig"), "roberta": ("roberta", "RobertaConfig"),
    "xlm-roberta": ("xlm_roberta", "XLMRobertaConfig"),
    "camembert": ("camembert", "CamembertConfig"), "electra": ("electra", "ElectraConfig"),
    "distilbert": ("distilbert", "DistilBertConfig"),
    "nomic_bert": ("nomic_bert", "NomicBertConfig"),
    "jina_embeddings_v3": ("jina_embeddings_v3", "JinaEmbeddingsV3Config"),
    "gte": ("gte", "GteConfig"), "eurobert": ("eurobert", "EuroBertConfig"),
    "modernbert": ("modernbert", "ModernBertConfig"),
    "xlstm": ("xlstm", "xLSTMConfig"), "cohere2_moe": ("cohere2_moe", "Cohere2MoeConfig"),
    "sarvam_moe": ("sarvam_moe", "SarvamMoEConfig"),
}
# Classes of a modeling file that read the config with the pictures, not the decoder's.
PICTURES = ("MultiModal", "ForConditionalGeneration", "SequenceClassification", "Gemma3Model",
            "Qwen3_5Model", "Qwen3_5MoeModel", "Llama4PreTrainedModel", "Gemma4Model",
            "Gemma4Audio", "Gemma4Vision", "Gemma4Clippable", "Gemma4Multimodal",
            "Gemma4PreTrainedModel", "Gemma4UnifiedModel", "Gemma4UnifiedMultimodal",
            "Gemma4UnifiedPreTrained", "Exaone4_5_Model", "Gemma3nModel", "Gemma3nAudio",
            "Gemma3nMultimodal")
# Classes without code, but for those that are computed as Llama.
COMPUTED_AS = {"sarvam_moe": "glm4_moe"}
# Classes of the towers beside a decoder.
TOWERS = ("Vision", "Unfold", "Audio", "Clippable", "Gemma3nPreTrained")
# Classes of other libraries.
ELSEWHERE = {"model2vec", "openelm", "minicpm", "orion", "bailing_moe"}
# Classes whose sides have objects of this class.
SIDES = {"t5gemma": "T5GemmaModuleConfig"}
# Folders with both, and the model_type of the class with the pictures.
NESTED = {"gemma3": "gemma3", "gemma3n": "gemma3n", "gemma4": "gemma4",
          "gemma4_unified": "gemma4_unified", "exaone4_5": "exaone4_5", "llama4": "llama4", "qwen3_5": "qwen3_5", "qwen3_5_moe": "qwen3_5_moe"}


def is_config(node):
    """`config` or `self.config`."""
    return (isinstance(node, ast.Name) and node.id == "config") or (
        isinstance(node, ast.Attribute) and node.attr == "config"
        and isinstance(node.value, ast.Name) and node.value.id == "self")


def reads_of(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_config(node.value):
            names.add(node.attr)
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in ("getattr", "hasattr") and len(node.args) > 1
                and is_config(node.args[0]) and isinstance(node.args[1], ast.Constant)):
            names.add(node.args[1].value)
    return names


def keys_of_class(model_type, root):
    import dataclasses
    import importlib
    folder, name = CLASSES[model_type]
    module = importlib.import_module(f"transformers.models.{folder}.configuration_{folder}")
    cls = getattr(module, name)
    keys = {field.name for field in dataclasses.fields(cls)} | set(cls.attribute_map)
    if model_type in SIDES:
        keys |= {field.name for field in dataclasses.fields(getattr(module, SIDES[model_type]))}
    modeling = root / "models" / folder / f"modeling_{folder}.py"
    if not modeling.exists():  # the class is computed as another one
        other = COMPUTED_AS.get(folder, "llama")
        modeling = root / f"models/{other}/modeling_{other}.py"
    tree = ast.parse(modeling.read_text())
    for part in tree.body:
        name = getattr(part, "name", "")
        pictures = any(word in name for word in PICTURES)
        if folder in NESTED and any(word in name for word in TOWERS):
            continue
        if folder not in NESTED or pictures == (model_type == NESTED[folder]):
            keys |= reads_of(part)
    return sorted(key for key in keys if not callable(getattr(cls, key, None)))


def installed_keys():
    import transformers
    from transformers import modeling_rope_utils
    root = pathlib.Path(transformers.__file__).parent
    masks = reads_of(ast.parse((root / "masking_utils.py").read_text()))
    return {
        "transformers": transformers.__version__,
        "families": {name: keys_of_class(name, root) for name in CLASSES},
        "machinery": sorted(name for name in masks if name != "get_text_config"),
        "rope": sorted(modeling_rope_utils.RopeParameters.__annotations__),
    }


def known_keys(program):
    return json.loads(subprocess.run([program, "info", "--keys"], capture_output=True, text=True,
                                     check=True).stdout)


def words(part):
    return set(part["honoured"] if "honoured" in part else ()) | set(part["without_effect"]) | set(
        part.get("neutral", ()))


def compare(reference, known):
    """Lines that say what is not listed."""
    everywhere = words(known["every_family"])
    faults = []
    ours = {}
    for family in known["families"]:  # a later one of the same type is of other libraries
        ours.setdefault(family["model_type"], family)
    for model_type in sorted(set(ours) - ELSEWHERE | set(reference["families"])):
        if model_type not in reference["families"]:
            faults.append(f"{model_type}: the reference's keys are not known; add it to CLASSES")
            continue
        if model_type not in ours:
            continue
        family = ours[model_type]
        listed = everywhere | (words(known["outer"]) if family["nested"] else words(family))
        for key in reference["families"][model_type]:
            if key not in listed:
                faults.append(f"{model_type}: '{key}' is read by the reference and listed nowhere")
    anywhere = everywhere.union(*(words(family) for family in ours.values()))
    faults += [f"masking: '{key}' is listed nowhere" for key in reference["machinery"]
               if key not in anywhere]
    faults += [f"rope_parameters: '{key}' is listed nowhere" for key in reference["rope"]
               if key not in words(known["rope"])]
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/apps/ruvllm/ruvllm")
    parser.add_argument("--snapshot", action="store_true", help="compare with config_keys.json")
    parser.add_argument("--write", action="store_true", help="write config_keys.json")
    args = parser.parse_args()
    if args.snapshot:
        reference = json.loads(SNAPSHOT.read_text())
    else:
        try:
            reference = installed_keys()
        except ImportError as error:
            print(f"skipped: {error}")
            return 0
    if args.write:
        SNAPSHOT.write_text(json.dumps(reference, indent=1) + "\n")
    faults = compare(reference, known_keys(args.program))
    for fault in faults:
        print(fault)
    n_keys = sum(len(keys) for keys in reference["families"].values())
    print(f"transformers {reference['transformers']}: {len(reference['families'])} families, "
          f"{n_keys} keys, {len(faults)} unlisted")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
