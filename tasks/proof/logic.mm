$( Propositional logic after Lukasiewicz: implication and negation, three axioms, one rule. $)
$c ( ) -> -. wff |- $.
$v ph ps ch th $.
wph $f wff ph $.
wps $f wff ps $.
wch $f wff ch $.
wth $f wff th $.
wn $a wff -. ph $.
wi $a wff ( ph -> ps ) $.
ax-1 $a |- ( ph -> ( ps -> ph ) ) $.
ax-2 $a |- ( ( ph -> ( ps -> ch ) ) -> ( ( ph -> ps ) -> ( ph -> ch ) ) ) $.
ax-3 $a |- ( ( -. ph -> -. ps ) -> ( ps -> ph ) ) $.
$( From two lines a third. $)
${ mp.1 $e |- ph $. mp.2 $e |- ( ph -> ps ) $. mp $a |- ps $. $}

$( @ identity $)
identity $p |- ( ph -> ph ) $=
    wph wph wph wi wi wph wph wi wph wph ax-1 wph wph wph wi wph wi wi wph wph wph wi wi wph wph
    wi wi wph wph wph wi ax-1 wph wph wph wi wph ax-2 mp mp $.

$( @ weaken $)
${
  weaken.1 $e |- ph $.
  weaken $p |- ( ps -> ph ) $=
    wph wps wph wi weaken.1 wph wps ax-1 mp $.
$}

$( @ chain $)
${
  chain.1 $e |- ( ph -> ps ) $.
  chain.2 $e |- ( ps -> ch ) $.
  chain $p |- ( ph -> ch ) $=
    wph wps wi wph wch wi chain.1 wph wps wch wi wi wph wps wi wph wch wi wi wps wch wi wph
    chain.2 weaken wph wps wch ax-2 mp mp $.
$}

$( @ swap $)
${
  swap.1 $e |- ( ph -> ( ps -> ch ) ) $.
  swap $p |- ( ps -> ( ph -> ch ) ) $=
    wps wph wps wi wph wch wi wps wph ax-1 wph wps wch wi wi wph wps wi wph wch wi wi swap.1 wph
    wps wch ax-2 mp chain $.
$}

$( @ explode $)
explode $p |- ( -. ph -> ( ph -> ps ) ) $=
    wph wn wps wn wph wn wi wph wps wi wph wn wps wn ax-1 wps wph ax-3 chain $.

$( @ contract $)
${
  contract.1 $e |- ( ph -> ( ph -> ps ) ) $.
  contract $p |- ( ph -> ps ) $=
    wph wph wi wph wps wi wph identity wph wph wps wi wi wph wph wi wph wps wi wi contract.1
    wph wph wps ax-2 mp mp $.
$}

$( @ not-not $)
not-not $p |- ( -. -. ph -> ph ) $=
    wph wn wn wph wph wn wn wph wn wph wn wn wn wi wph wn wn wph wi wph wn wph wn wn wn explode
    wph wph wn wn ax-3 chain contract $.
