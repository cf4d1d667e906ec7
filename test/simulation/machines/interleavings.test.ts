import { interleavingSuite, QUICK_INTERLEAVINGS } from './interleaving-suite.ts'

interleavingSuite({ scale: QUICK_INTERLEAVINGS })
