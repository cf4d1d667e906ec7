import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { type PageSource, type RunningPage, servePage } from './page-server.ts'
import type { Update, VerbRequest } from './rows.ts'

const ASSETS = { html: '<!doctype html>', js: 'js', css: 'css' }
const NOTHING: Update = { isWhole: true, kinds: {}, problems: {}, pending: [] }
const STOP = { verb: 'stop', names: ['lab-1'] }

let page: RunningPage
const done: VerbRequest[] = []
afterEach(async () => {
  done.length = 0
  await page.close()
})

interface Served {
  readonly origin: string
  /** Where the page is, with `/` at its end. */
  readonly base: string
  readonly cookie: string
}

async function served(source: Partial<PageSource> = {}): Promise<Served> {
  page = await servePage(
    ASSETS,
    {
      everything: () => NOTHING,
      subscribe: () => () => undefined,
      story: async () => undefined,
      carryOut: async (request) => {
        done.push(request)
        return { outcomes: [] }
      },
      ...source,
    },
    0,
  )
  const { origin, pathname } = new URL(page.url)
  const entered = await fetch(page.url, { redirect: 'manual' })
  return { origin, base: `${origin}${pathname}`, cookie: (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '' }
}

/** Asks with a Host of one's own, which `fetch` does not let anybody choose. */
async function statusWith(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return await new Promise((resolve, reject) => {
    httpRequest(url, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

describe('who may ask the server of the page', () => {
  it('lets those in who have the token, and keeps it out of the address', async () => {
    const { base, cookie } = await served()
    const entered = await fetch(page.url, { redirect: 'manual' })
    const { pathname } = new URL(base)
    expect([entered.status, entered.headers.get('location')]).toEqual([303, pathname])
    expect(entered.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Path=/)
    const shown = await fetch(base, { headers: { cookie } })
    expect([shown.status, await shown.text()]).toEqual([200, ASSETS.html])
  })

  it('is below a path that no other server of this machine knows, and so is its cookie', async () => {
    const { origin, base, cookie } = await served()
    const { pathname } = new URL(base)
    expect(pathname).toMatch(/^\/[-\w]{43}\/$/)
    const entered = await fetch(page.url, { redirect: 'manual' })
    expect(entered.headers.get('set-cookie')).toMatch(new RegExp(`; Path=${pathname}$`))
    expect(page.url).not.toContain(`token=${pathname.slice(1, -1)}`)
    for (const path of ['/', '/page.js', '/api/updates', pathname.slice(0, -1), `/?token=${cookie.split('=')[1]}`])
      expect((await fetch(`${origin}${path}`, { headers: { cookie } })).status).toBe(401)
  })

  it.each(['', 'page.js', 'api/updates', 'api/story?kind=labs&key=a', '?token=wrong'])(
    'shows %s to nobody else',
    async (path) => {
      const { base, cookie } = await served()
      const others = ['', 'ot-ui-1=x', `${cookie}x`, cookie.replace(/=.*/, '=')]
      const answers = await Promise.all(others.map((one) => fetch(`${base}${path}`, { headers: { cookie: one } })))
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401])
      expect(await answers[0]?.text()).toBe('open the address that ot ui has printed: it has the token of this page')
    },
  )

  it('answers to its own names alone: another host that points to this machine is none', async () => {
    const { origin, base, cookie } = await served()
    const { port } = new URL(origin)
    const statuses = await Promise.all(
      [`127.0.0.1:${port}`, `localhost:${port}`, `evil.example:${port}`, '127.0.0.1'].map((host) =>
        statusWith(base, { cookie, host }),
      ),
    )
    expect(statuses).toEqual([200, 200, 403, 403])
  })

  it('does what the page itself asks for, and no other page', async () => {
    const { origin, base, cookie } = await served()
    const post = (headers: Record<string, string>, body: unknown = STOP) =>
      fetch(`${base}api/verbs`, { method: 'POST', headers: { cookie, ...headers }, body: JSON.stringify(body) })
    const json = { 'content-type': 'application/json' }
    expect((await post({ ...json, origin: 'http://evil.example' })).status).toBe(403)
    expect((await post({ ...json })).status).toBe(403)
    expect((await post({ origin, 'content-type': 'text/plain' })).status).toBe(403)
    expect(done).toEqual([])
    expect((await post({ ...json, origin })).status).toBe(200)
    expect(done).toEqual([{ verb: 'stop', names: ['lab-1'], isConfirmed: false }])
  })

  it.each([
    [{ verb: 'delete', names: ['a'] }, /^verb must be one of start, stop, /],
    [{ verb: 'stop', names: [] }, /^names must be a list/],
    [{ verb: 'stop', names: [1] }, /^names must be a list/],
    [{ verb: 'extend', names: ['a'] }, /^byMs must be a number/],
    [null, /^verb must be/],
  ])('refuses %j', async (body, problem) => {
    const { origin, base, cookie } = await served()
    const headers = { cookie, origin, 'content-type': 'application/json' }
    const answer = await fetch(`${base}api/verbs`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(problem)])
    expect(done).toEqual([])
  })

  it('lets nothing from elsewhere into the page', async () => {
    const { base, cookie } = await served()
    for (const path of ['', 'page.js', 'nowhere', 'api/story?kind=labs&key=a']) {
      const { headers } = await fetch(`${base}${path}`, { headers: { cookie } })
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })
})

describe('what the server of the page answers', () => {
  it('sends all that is known first, and then each change', async () => {
    let tell: (update: Update) => void = () => undefined
    const later = { ...NOTHING, isWhole: false }
    const { base, cookie } = await served({
      subscribe: (listener) => {
        tell = listener
        return () => undefined
      },
    })
    const { body } = await fetch(`${base}api/updates`, { headers: { cookie } })
    const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe(`data: ${JSON.stringify(NOTHING)}\n\n`)
    tell(later)
    expect((await reader.read()).value).toBe(`data: ${JSON.stringify(later)}\n\n`)
    await reader.cancel()
  })

  it('tells a refusal of the API server in its own words', async () => {
    const { base, cookie } = await served({
      story: async () => {
        throw apiError('Rejected', { status: 403, message: 'workspaces is forbidden' })
      },
    })
    const answer = await fetch(`${base}api/story?kind=labs&key=a`, { headers: { cookie } })
    expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('workspaces is forbidden')])
  })

  it('says so if an object is gone, and what it cannot understand', async () => {
    const { base, cookie } = await served()
    const statusOf = async (path: string) => (await fetch(`${base}${path}`, { headers: { cookie } })).status
    expect(await statusOf('api/story?kind=labs&key=a')).toBe(404)
    expect(await statusOf('api/story?kind=secrets&key=a/b')).toBe(400)
  })
})
