import { describe, inject, it } from 'vitest'
import type { CloudInit } from './package.ts'
import { expectReadAsMeant } from './random-machines.ts'
import { judge } from './verdict.ts'

const SAMPLES = 100
const cloudInit = inject('cloudInit')

describe.skipIf(cloudInit === undefined)('cloud-init', () => {
  it(`accepts ${SAMPLES} machines at random, and reads each as it was meant`, async () => {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    await expectReadAsMeant(SAMPLES, (documents) => judge(cloudInit as CloudInit, documents))
  })
})
