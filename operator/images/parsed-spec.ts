import { parseVMDiskImageSpec } from '@open-terrain/constructs'
import { memoized } from '../runtime/memoized.ts'

/** The spec of an image as its schema reads it: parsed once for each that a cache hands out. */
export const parsedImageSpec = memoized(parseVMDiskImageSpec)
