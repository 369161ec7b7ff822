"""The words to draw from: concrete, one form each, none inside another, each one token or two for small models."""

_TEXT = """
anchor apple basket bell blanket boat book bottle bread bridge brush bucket butter button candle
carpet castle cat chair cheese clock cloud coat coin corner cup doctor door dog drum engine
farmer feather fence field fire fish flag flower forest garden gate guitar hammer hat hill horse
kettle key king kitchen ladder lake lamp leaf lemon letter lion map market mirror moon mountain
needle nest oven paint paper piano pillow plate pocket potato queen rabbit radio rain ring river
road rope sail salt school shadow sheep ship shoe shop silver snow soap song spoon star station
stone storm street sugar table teacher tent ticket tiger tower train tree wagon wheel wind window
winter wolf
"""
WORDS = tuple(_TEXT.split())
