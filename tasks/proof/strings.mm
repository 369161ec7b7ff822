$( Strings of M, I and U, after a puzzle of Hofstadter's: what can be made of M I by four rules? $)
$c M I U str |- $.
$v x y $.
vx $f str x $.
vy $f str y $.
$( Nothing is a string, and so is a string with a letter behind it. $)
none $a str $.
with-M $a str x M $.
with-I $a str x I $.
with-U $a str x U $.
$( |- says that a string can be made. $)
start $a |- M I $.
${ r1.1 $e |- x I $. rule-1 $a |- x I U $. $}
${ r2.1 $e |- M x $. rule-2 $a |- M x x $. $}
${ r3.1 $e |- x I I I y $. rule-3 $a |- x U y $. $}
${ r4.1 $e |- x U U y $. rule-4 $a |- x y $. $}

$( @ double $)
double $p |- M I I $= none with-I start rule-2 $.

$( @ ending $)
ending $p |- M I I U $= none with-M with-I double rule-1 $.

$( @ middle $)
middle $p |- M U I $= none with-M none with-I none with-I with-I double rule-2 rule-3 $.
