import { interleavingSuite } from './interleaving-suite.ts'

interleavingSuite(Number(process.env['SIMULATION_SCALE'] ?? 0.6))
