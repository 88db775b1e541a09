import type { Configuration } from '../../../core/config/configuration';
import type { ShutdownGuard } from '../../../http/server/shutdown';
import type { RecordReader } from '../../../ledger/reading/record-reader';
import type { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import type { ActionContext } from './action-handlers';
import { ActionRunner } from './action-runner';

const ASKED = { agentId: 'agt_1', action: 'send', executionId: 'exe_1', parameters: {} } as unknown as Omit<
  ActionContext,
  'signal'
>;
const OF_OTHERS = { id: 'stp_1', agentId: null, role: 'other', actions: [] } as unknown as Stop;
const OF_ALL = { id: 'stp_2', agentId: null, role: null, actions: [] } as unknown as Stop;

function runnerWith(stops: ActiveStops, find: () => Promise<object>): ActionRunner {
  const configuration = { actionTimeout: 1_000, bodyLimit: 100 } as Configuration;
  const gate = { signal: new AbortController().signal } as ShutdownGuard;
  return new ActionRunner(configuration, stops, { find } as unknown as RecordReader, gate);
}

describe('The runner of actions', () => {
  it('ends a handler for a stop that was made while earlier ones were held against its agent', async () => {
    const stops = { active: [OF_OTHERS], onAdded: () => undefined };
    const find = (): Promise<object> => {
      if (stops.active.length === 1) stops.active = [OF_OTHERS, OF_ALL];
      return Promise.resolve({ roles: ['billing'] });
    };
    const runner = runnerWith(stops as unknown as ActiveStops, find);
    expect(await runner.stopOf(ASKED)).toBeNull();
    const handler = ({ signal }: ActionContext): Promise<string> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('aborted'));
        setTimeout(() => resolve('done'), 200);
      });
    expect(await runner.run(handler, ASKED)).toMatchObject({ outcome: 'failed', failureCode: 'stopped' });
  });

  it('has no room for large parameters while handlers hold many, and always for small ones', async () => {
    const stops = { active: [], onAdded: () => undefined } as unknown as ActiveStops;
    const runner = runnerWith(stops, () => Promise.reject(new Error('No agent is read.')));
    const [large, small] = [{ text: 'x'.repeat(9 * 1024 * 1024) }, { text: 'x' }];
    const ends: (() => void)[] = [];
    const handler = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
    const runs = [];
    for (let count = 0; count < 4; count += 1) {
      expect(runner.hasRoomFor(large)).toBe(true);
      runs.push(runner.run(handler, { ...ASKED, parameters: large }));
    }
    expect([runner.hasRoomFor(large), runner.hasRoomFor(small)]).toEqual([false, true]);
    for (const end of ends) end();
    await Promise.all(runs);
    expect(runner.hasRoomFor(large)).toBe(true);
  });
});
