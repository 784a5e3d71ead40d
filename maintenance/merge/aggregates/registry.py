"""All aggregate functions by name."""

from collections.abc import Mapping

from maintenance.merge.aggregates.aggregate import Aggregate
from maintenance.merge.aggregates.bool_and import BOOL_AND
from maintenance.merge.aggregates.bool_or import BOOL_OR
from maintenance.merge.aggregates.collect import COLLECT
from maintenance.merge.aggregates.count import COUNT
from maintenance.merge.aggregates.first_non_null_value import FIRST_NON_NULL_VALUE, FIRST_NOT_NULL_VALUE
from maintenance.merge.aggregates.first_value import FIRST_VALUE
from maintenance.merge.aggregates.hll_sketch import HLL_SKETCH
from maintenance.merge.aggregates.last_non_null_value import LAST_NON_NULL_VALUE
from maintenance.merge.aggregates.last_value import LAST_VALUE
from maintenance.merge.aggregates.listagg import LISTAGG
from maintenance.merge.aggregates.max import MAX
from maintenance.merge.aggregates.merge_map import MERGE_MAP
from maintenance.merge.aggregates.merge_map_with_keytime import MERGE_MAP_WITH_KEYTIME
from maintenance.merge.aggregates.min import MIN
from maintenance.merge.aggregates.nested_partial_update import NESTED_PARTIAL_UPDATE
from maintenance.merge.aggregates.nested_update import NESTED_UPDATE
from maintenance.merge.aggregates.primary_key import PRIMARY_KEY
from maintenance.merge.aggregates.product import PRODUCT
from maintenance.merge.aggregates.rbm32 import RBM32
from maintenance.merge.aggregates.rbm64 import RBM64
from maintenance.merge.aggregates.sum import SUM
from maintenance.merge.aggregates.theta_sketch import THETA_SKETCH

AGGREGATES: Mapping[str, Aggregate] = {
    function.name: function
    for function in (
        BOOL_AND,
        BOOL_OR,
        COLLECT,
        COUNT,
        FIRST_NON_NULL_VALUE,
        FIRST_NOT_NULL_VALUE,
        FIRST_VALUE,
        HLL_SKETCH,
        LAST_NON_NULL_VALUE,
        LAST_VALUE,
        LISTAGG,
        MAX,
        MERGE_MAP,
        MERGE_MAP_WITH_KEYTIME,
        MIN,
        NESTED_PARTIAL_UPDATE,
        NESTED_UPDATE,
        PRIMARY_KEY,
        PRODUCT,
        RBM32,
        RBM64,
        SUM,
        THETA_SKETCH,
    )
}
