"""The words to draw from: concrete things of everyday scenes, each in one form."""

_TEXT = """
apple basket bell bird blanket boat book bottle bread bridge butter candle castle cat chair cheese
church clock cloud coat cup doctor door dog farmer feather fence field fire fish flower forest garden
guitar hat hill horse house kitchen lady lake lamp leaf letter lion market mirror moon mountain mouse
ocean orange painter paper piano picture pillow plate potato queen rabbit rain river road rose sailor
school ship shoe snow soldier song soup star stone storm street sugar sun table teacher tower train
tree village wall water window winter wolf
"""
WORDS = tuple(_TEXT.split())
