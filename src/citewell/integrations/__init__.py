"""Citewell in the frameworks that people have already, one package each, with the framework's core as an extra.

    langchain    a retriever and the tool                            extra langchain, langchain-core
    llamaindex   a retriever, the cap per document, the tool spec    extra llama-index, llama-index-core
    haystack     a retriever component and the tool                  extra haystack, haystack-ai

    passages     what all of them hand out of a lookup, and the filters that they take
    lazy         a framework is imported when one of its names is asked for, or missed by the name of its extra

Importing one of the packages costs nothing; asking it for a name imports the framework. None knows another, and none
knows an engine: they ask a Knowledge.
"""
