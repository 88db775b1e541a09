import { setImmediate as turn } from 'node:timers/promises';
import { loadGatewayModule } from './gateway-modules';

type Result = readonly { readonly reason: string | null }[];
interface ListedStop {
  readonly agentId: string | null;
  readonly actions: readonly string[];
}
/** The answer of the list of stops. */
type StopList = readonly ListedStop[] | Error;
interface Question {
  readonly requests: readonly { readonly resourceId: string }[];
}

function refusal(status: number, reason: string | null = null): Error {
  return Object.assign(new Error('refused'), { status, reason });
}

describe('The check of running calls', () => {
  /** Runs calls on these resources, and returns those that are stopped by a check. */
  async function stopped(
    resources: readonly string[],
    answer: (ids: readonly string[]) => Result | Error | Promise<never>,
    list: () => StopList = () => refusal(503),
  ): Promise<string[]> {
    const { RunningCalls } = await loadGatewayModule('../mcp/running-calls');
    const calls = new RunningCalls({ pause: 1, max: 200 });
    const service = {
      activeStops: async () => {
        const stops = list();
        if (stops instanceof Error) throw stops;
        return stops;
      },
      evaluate: async (body: object) => {
        const results = await answer((body as Question).requests.map(({ resourceId }) => resourceId));
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
    await calls.checkAll({ signal: new AbortController().signal }).finally(finish);
    await Promise.all(running);
    return ended;
  }

  it('stops what a stop covers, and what a suspended agent or an ended key runs', async () => {
    const reasons = ['stopped', null, 'agent_suspended', 'no_policy_allows'];
    expect(await stopped(['a', 'b', 'c', 'd'], () => reasons.map((reason) => ({ reason })))).toEqual(['a', 'c']);
    expect(await stopped(['a', 'b'], () => refusal(401))).toEqual(['a', 'b']);
    expect(await stopped(['a'], () => refusal(403, 'agent_suspended'))).toEqual(['a']);
    // The agent of a token has lost the role that its issuer needs to speak for it.
    let questions = 0;
    expect(await stopped(['a'], () => ((questions += 1), refusal(403, 'agent_unknown')))).toEqual(['a']);
    expect(questions).toBe(1);
  });

  it('reads the list of stops where an evaluate is not answered, as at the rate limit', async () => {
    const limited = (): Error => refusal(429);
    const stop = { agentId: null, actions: [] };
    expect(await stopped(['a', 'b'], limited, () => [stop])).toEqual(['a', 'b']);
    expect(await stopped(['a'], limited, () => [{ agentId: 'agent', actions: ['wr*'] }])).toEqual(['a']);
    const others = [
      { agentId: 'another', actions: [] },
      { agentId: null, actions: ['read', 'writes'] },
    ];
    expect(await stopped(['a'], limited, () => others)).toEqual([]);
    expect(await stopped(['a'], limited, () => [])).toEqual([]);
    expect(await stopped(['a'], limited, () => refusal(401))).toEqual(['a']);
    expect(await stopped(['a'], limited, () => refusal(403, 'agent_suspended'))).toEqual(['a']);
  });

  it('asks again while nothing is answered, and then ends the calls as if they were stopped', async () => {
    let questions = 0;
    const answers = (): Result | Error => {
      questions += 1;
      return questions < 4 ? refusal(503) : [{ reason: 'no_policy_allows' }];
    };
    expect(await stopped(['a'], answers)).toEqual([]);
    expect(questions).toBe(4);
    expect(await stopped(['a', 'b'], () => refusal(503))).toEqual(['a', 'b']);
    expect(await stopped(['a'], () => new Promise<never>(() => undefined))).toEqual(['a']);
  });

  it('is not hidden by a call that the service refuses to look at', async () => {
    const answer = (ids: readonly string[]): Result | Error =>
      ids.includes('invalid') ? refusal(400) : ids.map(() => ({ reason: 'stopped' }));
    expect(await stopped(['a', 'invalid', 'b'], answer)).toEqual(['a', 'b']);
  });
});
