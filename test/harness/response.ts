import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'

/**
 * Resolves with the response to a request that was sent. Throws if there is none. A connection that is reset later breaks the body of the
 * response, and Node tells the request of it too: an error that nobody listens to, which would end the process.
 */
export async function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  request.on('error', () => undefined)
  const [response] = await once(request, 'response')
  return response
}
