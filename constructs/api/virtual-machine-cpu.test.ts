import { describe, expect, it } from 'vitest'
import { cpuShape } from './virtual-machine-cpu.ts'

describe('cpuShape', () => {
  it.each([
    ['1', { cpus: 1 }],
    ['2', { cpus: 2 }],
    ['512', { cpus: 512 }],
    ['2.0', { cpus: 2 }],
    ['2000m', { cpus: 2 }],
    ['1m', { cpus: 1, request: '1m' }],
    ['500m', { cpus: 1, request: '500m' }],
    ['0.5', { cpus: 1, request: '500m' }],
    ['1.5', { cpus: 2, request: '1500m' }],
    ['1.001', { cpus: 2, request: '1001m' }],
    // As binary fractions these differ a little from what they say.
    ['1.005', { cpus: 2, request: '1005m' }],
    ['511.999', { cpus: 512, request: '511999m' }],
  ])('of %s', (cpu, shape) => {
    expect(cpuShape(cpu)).toEqual(shape)
  })

  it('throws on what the API refuses', () => {
    expect(() => cpuShape('two')).toThrow('cpu "two" is no number of CPUs')
  })
})
