import fc from 'fast-check'

/**
 * The same draws in every run, so that a change is judged by what it changes; `PROPERTY_SEED=random` looks further, and a number
 * repeats what a failure has printed.
 */
const seed = process.env['PROPERTY_SEED'] ?? '1'
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) })
