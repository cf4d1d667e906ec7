import fc from 'fast-check'

/**
 * Draws the same values in every run, so that a change is judged by its own effect. `PROPERTY_SEED=random` tries other values,
 * and a number repeats the run that printed it.
 */
const seed = process.env['PROPERTY_SEED'] ?? '1'
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) })
