import type { Logger as PinoLogger } from 'pino'

/** The part of pino that we use: structured fields first, then one constant sentence. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'child'>
