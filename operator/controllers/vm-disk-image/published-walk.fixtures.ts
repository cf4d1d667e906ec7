import { expect } from 'vitest'
import { Walk } from './image-walk.fixtures.ts'
import type { WorldOverrides } from './image-world.fixtures.ts'

export const published = (overrides: WorldOverrides = {}) => {
  const walk = new Walk(overrides)
  walk.publish()
  expect(walk.stand).toBe('Succeeded/Synced')
  return walk
}

export const deletions = (walk: Walk) => walk.log.filter((line) => line.startsWith('delete'))
