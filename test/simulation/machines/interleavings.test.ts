import { interleavingSuite } from './interleaving-suite.ts'

interleavingSuite(0.2)
