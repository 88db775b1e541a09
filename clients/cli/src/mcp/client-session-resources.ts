import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { otherAnswers, resultOnly } from './tool-results.js';
import type { GovernedServer } from './servers/governed-server.js';
import { isPlainUri, readRequestOf } from './mapping.js';
import { carryOutGoverned, type SessionParts } from './client-session.js';
import { traceMeta } from './trace-of-call.js';
import type { ListCandidate } from './visible.js';

export function offerResources(parts: SessionParts, subscribedUris: Set<string>): void {
  const { server, servers, gate, visible } = parts;
  server.setRequestHandler('resources/list', async () => {
    const resources = await servers.list('resources');
    // If two servers have the same URI, the first one is read.
    const uris = new Set<string>();
    const firsts = resources.filter(({ item: { uri } }) => !uris.has(uri) && uris.add(uri));
    const listed = firsts.map((resource) => ({
      item: resource.item,
      question: questionOf(resource.server, resource.item.uri),
    }));
    return { resources: await visible.select(servers, await gate.agent(), 'resource', listed) };
  });
  server.setRequestHandler('resources/templates/list', async () => ({
    // The request is known only once a URI is made from the template.
    resourceTemplates: (await servers.list('resourceTemplates')).map(({ item }) => item),
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    carryOutRequest<ReadResourceResult>(parts, context, { method: 'resources/read', uri }),
  );
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, context) => {
    const result = await carryOutRequest<object>(parts, context, { method: 'resources/subscribe', uri });
    if (!('inputRequests' in result)) subscribedUris.add(uri);
    return result;
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    subscribedUris.delete(uri);
    const owner = servers.only ?? (await servers.withResource(uri));
    await owner?.unsubscribe(uri);
    return {};
  });
}

function questionOf(server: string, uri: string): ListCandidate<unknown>['question'] {
  return isPlainUri(uri) ? readRequestOf(server, uri) : 'hidden';
}

interface ResourceRequest {
  readonly method: 'resources/read' | 'resources/subscribe';
  readonly uri: string;
}

/** Reads a resource, or subscribes to it. A subscription shows its changes, so the policies check it like reading. */
async function carryOutRequest<Result>(
  parts: SessionParts,
  context: ServerContext,
  { method, uri }: ResourceRequest,
): Promise<Result> {
  const { servers } = parts;
  // A subscription to the only server shows nothing of the resource itself.
  const only = method === 'resources/subscribe' ? servers.only : null;
  const owner: GovernedServer | null = only ?? (await servers.withResource(uri));
  if (owner === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No server lists a resource ${uri}.`);
  const name = `${method} of ${uri}`;
  return (await carryOutGoverned<Result>(parts, context, {
    name,
    requestOf: () => ({ ...readRequestOf(owner.name, uri), parameters: { uri } }),
    run: async (callOptions) => {
      if (method === 'resources/subscribe') return (await owner.subscribe(uri, callOptions)) as Result;
      return owner.passOn(name, callOptions, async (client, options) => {
        const params = { uri, ...traceMeta() };
        const result = await client.request({ method, params }, options);
        return resultOnly(result, 'contents') as Result;
      });
    },
    answers: otherAnswers(),
  })) as Result;
}
