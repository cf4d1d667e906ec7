import { interleavingSuite, QUICK_INTERLEAVINGS } from './interleaving-suite.ts'

interleavingSuite({ scale: Number(process.env['SIMULATION_SCALE'] ?? 0.6), after: QUICK_INTERLEAVINGS })
