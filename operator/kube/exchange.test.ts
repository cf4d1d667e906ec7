import type { Dispatcher } from 'undici'
import { expect, it } from 'vitest'
import { Exchange } from './exchange.ts'

it('hands out a body that goes on, and ends, while the connection is told to go on', async () => {
  const pieces = ['a', 'b', 'c'].map((one) => Buffer.from(one))
  const dispatch = (_request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
    const resume = () => {
      const next = pieces.shift()
      if (next === undefined) handler.onResponseEnd?.(controller, {})
      else handler.onResponseData?.(controller, next)
    }
    const controller = { resume, pause: () => undefined } as Dispatcher.DispatchController
    handler.onRequestStart?.(controller, {})
    handler.onResponseStart?.(controller, 200, {})
    return true
  }
  const answer = await Exchange.begin({ dispatch } as Dispatcher, { path: '/', method: 'GET' }, undefined)
  const text: string[] = []
  void (async () => {
    for await (const piece of answer.body) text.push(piece.toString())
    text.push('end')
  })()
  await new Promise(setImmediate)
  expect(text).toEqual(['a', 'b', 'c', 'end'])
})
