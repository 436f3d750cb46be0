"""Text -> vector: the default model in this process (`onnx`), and any OpenAI-compatible endpoint (`openai`).

Neither knows the other, a store, or what the vectors are for.
"""
