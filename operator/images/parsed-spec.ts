import { parseVMDiskImageSpec } from '@open-terrain/constructs'
import { onceForEach } from '../runtime/once-for-each.ts'

/** The spec of an image as its schema reads it: once for each that a cache hands out, whoever looks at it. */
export const parsedImageSpec = onceForEach(parseVMDiskImageSpec)
