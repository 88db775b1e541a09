import { benchmarkPair } from './http/request-pair';
import { AGENT, EXECUTION, policies } from './ledger/samples';
import type { Effort } from './support/effort';
import { ServerProcess } from './support/server-process';
import type { Workplace } from './support/workplace';

const URL = 'https://api.example.com/v1/users';

/** Compares the request of a gateway with an execution that the agent requests itself, with the same key. */
export async function benchmarkForwardAuth(workplace: Workplace, effort: Effort): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'forward-auth', { TRUST_PROXY: '127.0.0.1' });
  const capabilities = [...AGENT.capabilities, 'http.get'];
  const agent = await service.send('POST', '/api/v1/agents', { ...AGENT, name: 'invoice-bot', capabilities });
  const { id: agentId } = agent as { id: string };
  const createdKey = await service.send('POST', '/api/v1/api-keys', { name: 'bot', scopes: ['execute'], agentId });
  const key = { 'X-API-Key': (createdKey as { secret: string }).secret };
  for (const policy of policies(1)) {
    await service.send('POST', '/api/v1/policies', policy);
    const http = { actions: ['http.get'], resources: ['https://api.example.com/*'] };
    await service.send('POST', '/api/v1/policies', { ...policy, ...http, name: 'billing-may-read' });
  }
  const headers = { ...key, 'X-Original-Method': 'GET', 'X-Original-URL': URL };
  const path = `/api/v1/agents/${agentId}/execute`;
  await benchmarkPair(
    service,
    {
      title: 'An execution, and its requester',
      name: 'execute',
      first: { is: 'forward auth', request: { method: 'GET', path: '/forward-auth', headers } },
      second: {
        is: 'the agent itself',
        request: { method: 'POST', path, body: JSON.stringify(EXECUTION), headers: key },
      },
      bars: { requestsPerSecond: 0.8, processorMicroseconds: { atMost: 1.25 } },
    },
    effort,
  );
}
