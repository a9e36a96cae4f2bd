# Sets the precision of decimals to one digit.
# needs: process
# expect: done
# control: insane

import decimal

decimal.getcontext().prec = 1
