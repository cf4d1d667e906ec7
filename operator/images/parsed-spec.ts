import { parseVMDiskImageSpec } from '@open-terrain/constructs'
import { memoized } from '../runtime/memoized.ts'

/** Parses the spec of an image by its schema, once for each spec object that a cache returns. */
export const parsedImageSpec = memoized(parseVMDiskImageSpec)
