import tilewright._core


PARAMETERS: dict = ...

class MaskMod:
    @property
    def captures(self) -> list: ...

    def __call__(self, arg0: tilewright._core.Index, arg1: tilewright._core.Index, arg2: tilewright._core.Index, arg3: tilewright._core.Index, /) -> object: ...

def causal(*args) -> MaskMod:
    """kv <= q"""

def causal_offset(*args) -> MaskMod:
    """kv <= q + offset"""

def causal_offset_tensor(*args) -> MaskMod:
    """kv <= q + offset, the offset read from a tensor of rank 0"""

def window(*args) -> MaskMod:
    """0 <= q - kv < keys: each query sees that many keys"""

def window_inclusive(*args) -> MaskMod:
    """0 <= q - kv <= keys_back (FlexAttention's convention)"""

def dilated_window(*args) -> MaskMod:
    """|q - kv| <= radius and |q - kv| % dilation == 0"""

def global_window(*args) -> MaskMod:
    """|q - kv| <= radius or globals[q] or globals[kv]"""

def prefix_lm(*args) -> MaskMod:
    """kv < prefix or kv <= q"""

def prefix_lm_per_batch(*args) -> MaskMod:
    """kv < prefixes[b] or kv <= q"""

def chunked(*args) -> MaskMod:
    """q // chunk == kv // chunk and kv <= q"""

def documents(*args) -> MaskMod:
    """ids[q] == ids[kv]"""

def per_document(*args) -> MaskMod:
    """ids[q] == ids[kv] and inner(q - starts[ids[q]], kv - starts[ids[kv]])"""

def packed_causal(*args) -> MaskMod:
    """starts[ids[q]] <= kv <= q"""

def shared_prefix(*args) -> MaskMod:
    """
    causal inside the query's document, and all of the document that is its prefix
    """

def jagged(*args) -> MaskMod:
    """seq[q] == seq[kv] and inner on positions inside the sequence"""

def batchify(*args) -> MaskMod:
    """q // length == kv // length and inner(q % length, kv % length)"""

def flamingo(*args) -> MaskMod:
    """low[kv // image_tokens] <= q < high[kv // image_tokens]"""

def block_diffusion(*args) -> MaskMod:
    """block diffusion over 2 * length positions, the first half noised"""

def transfusion(*args) -> MaskMod:
    """kv <= q or (spans[q] == spans[kv] and spans[q] >= 0)"""

def dialogue(*args) -> MaskMod:
    """turns[kv] <= turns[q]"""

def dialogue_window(*args) -> MaskMod:
    """kv <= q and turns[q] - turns[kv] < last_turns"""

def padded_keys(*args) -> MaskMod:
    """kv < lengths[b]"""

def padded_lengths(*args) -> MaskMod:
    """q < lengths[b] and kv < lengths[b]"""

def skip_odd_keys(*args) -> MaskMod:
    """kv % 2 == 0"""

def scattered_causal(*args) -> MaskMod:
    """kv <= q and (q + kv) % period != 0"""

def paged(*args) -> MaskMod:
    """
    inner on logical positions: kv // page is a physical page, logical[] maps it
    """

def natten_2d(*args) -> MaskMod:
    """neighbourhood attention on a grid; the window stays inside"""

def tiled_natten(*args) -> MaskMod:
    """natten_2d for positions laid out tile by tile"""

def morton_natten(*args) -> MaskMod:
    """natten_2d for positions in Z order"""

def sasa(*args) -> MaskMod:
    """|dx| <= radius and |dy| <= radius, not clamped"""

def sta_2d(*args) -> MaskMod:
    """sliding tile attention in 2D"""

def sta_3d(*args) -> MaskMod:
    """sliding tile attention in 3D"""

def svg_spatial(*args) -> MaskMod:
    """q < text or kv < text + frame or |q - kv| < distance"""

def svg_temporal(*args) -> MaskMod:
    """
    q < text or kv < text or |(q - text) % frame - (kv - text) % frame| < distance
    """

def vsa(*args) -> MaskMod:
    """selected[h, q // tile, kv // tile] and kv % tile < sizes[kv // tile]"""

def video_causal(*args) -> MaskMod:
    """kv <= q or an earlier video, or the same video if its number is even"""

def jetspec_tree(*args) -> MaskMod:
    """kv < prefix or ancestor[q, kv - prefix]"""

def jetspec_training(*args) -> MaskMod:
    """kv < prefix or an earlier place in the query's block"""

def speculative_tree(*args) -> MaskMod:
    """kv <= q and (kv < prefix or ancestor[q - prefix, kv - prefix])"""

def all_of(*args) -> MaskMod:
    """every part holds; each is evaluated at every pair"""

def any_of(*args) -> MaskMod:
    """some part holds; each is evaluated at every pair"""

def negate(*args) -> MaskMod:
    """the part does not hold"""

def offset(*args) -> MaskMod:
    """part at (q + q_offset, kv + kv_offset)"""
