import { setImmediate as turn } from 'node:timers/promises';
import { loadGatewayModule } from './gateway-modules';

type Result = readonly { readonly reason: string | null }[];
interface Question {
  readonly requests: readonly { readonly resourceId: string }[];
}

describe('The check of running calls', () => {
  /** Runs calls on these resources, and returns those that are stopped by a check. */
  async function stopped(
    resources: readonly string[],
    answer: (ids: readonly string[]) => Result | Error,
  ): Promise<string[]> {
    const { RunningCalls } = await loadGatewayModule('../mcp/running-calls');
    const calls = new RunningCalls();
    const service = {
      evaluate: async (body: object) => {
        const results = answer((body as Question).requests.map(({ resourceId }) => resourceId));
        if (results instanceof Error) throw results;
        return { results };
      },
    };
    const ended: string[] = [];
    const caller = { id: 'caller', agentId: 'agent', actorId: 'key' };
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const running = resources.map((resourceId) =>
      calls.during({ caller, service, action: 'write', resourceType: 'api', resourceId }, async (signal) => {
        signal.addEventListener('abort', () => ended.push(resourceId));
        await finished;
      }),
    );
    await turn();
    await calls.checkAll().finally(finish);
    await Promise.all(running);
    return ended;
  }

  const refusal = (status: number, reason: string | null = null): Error =>
    Object.assign(new Error('refused'), { status, reason });

  it('stops what a stop covers, and what a suspended agent or an ended key runs', async () => {
    const reasons = ['stopped', null, 'agent_suspended', 'no_policy_allows'];
    expect(await stopped(['a', 'b', 'c', 'd'], () => reasons.map((reason) => ({ reason })))).toEqual(['a', 'c']);
    expect(await stopped(['a', 'b'], () => refusal(401))).toEqual(['a', 'b']);
    expect(await stopped(['a'], () => refusal(403, 'agent_suspended'))).toEqual(['a']);
    await expect(stopped(['a'], () => refusal(503))).rejects.toThrow('refused');
  });

  it('is not hidden by a call that the service refuses to look at', async () => {
    const answer = (ids: readonly string[]): Result | Error =>
      ids.includes('invalid') ? refusal(400) : ids.map(() => ({ reason: 'stopped' }));
    expect(await stopped(['a', 'invalid', 'b'], answer)).toEqual(['a', 'b']);
  });
});
