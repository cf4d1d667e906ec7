import { describe, expect, it } from 'vitest'
import { cpuShape } from './virtual-machine-cpu.ts'

describe('cpuShape', () => {
  it.each([
    ['1', { sockets: 1 }],
    ['2', { sockets: 2 }],
    ['512', { sockets: 512 }],
    ['2.0', { sockets: 2 }],
    ['2000m', { sockets: 2 }],
    ['1m', { sockets: 1, request: '1m' }],
    ['500m', { sockets: 1, request: '500m' }],
    ['0.5', { sockets: 1, request: '500m' }],
    ['1.5', { sockets: 2, request: '1500m' }],
    ['1.001', { sockets: 2, request: '1001m' }],
    // As binary fractions these differ a little from what they say.
    ['1.005', { sockets: 2, request: '1005m' }],
    ['511.999', { sockets: 512, request: '511999m' }],
  ])('of %s', (cpu, shape) => {
    expect(cpuShape(cpu)).toEqual(shape)
  })

  it('throws on what the API refuses', () => {
    expect(() => cpuShape('two')).toThrow('cpu "two" is no number of CPUs')
  })
})
