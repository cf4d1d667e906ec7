import { expect } from 'vitest'
import { ImageWalk } from './image-walk.ts'
import type { ImageWorldOverrides } from './image-world.ts'

export const published = (overrides: ImageWorldOverrides = {}) => {
  const walk = new ImageWalk(overrides)
  walk.publish()
  expect(walk.stand).toBe('Succeeded/Synced')
  return walk
}

export const deletions = (walk: ImageWalk) => walk.log.filter((line) => line.startsWith('delete'))
