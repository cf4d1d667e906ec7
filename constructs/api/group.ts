/** API group of all Open Terrain kinds. */
export const GROUP = 'pelotech.ot'
/** Version of the API. */
export const VERSION = 'v1alpha1'
