import type { Configuration } from '../../../core/config/configuration';
import type { ShutdownGuard } from '../../../http/server/shutdown';
import type { RecordReader } from '../../../ledger/reading/record-reader';
import type { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import type { ActionContext } from './action-handlers';
import { ActionRunner } from './action-runner';

const ASKED = { agentId: 'agt_1', action: 'send', executionId: 'exe_1' } as Omit<ActionContext, 'signal'>;
const OF_OTHERS = { id: 'stp_1', agentId: null, role: 'other', actions: [] } as unknown as Stop;
const OF_ALL = { id: 'stp_2', agentId: null, role: null, actions: [] } as unknown as Stop;

describe('The runner of actions', () => {
  it('ends a handler for a stop that was made while earlier ones were held against its agent', async () => {
    const stops = { active: [OF_OTHERS], onAdded: () => undefined };
    const find = (): Promise<object> => {
      if (stops.active.length === 1) stops.active = [OF_OTHERS, OF_ALL];
      return Promise.resolve({ roles: ['billing'] });
    };
    const configuration = { actionTimeout: 1_000, bodyLimit: 100 } as Configuration;
    const gate = { signal: new AbortController().signal } as ShutdownGuard;
    const runner = new ActionRunner(
      configuration,
      stops as unknown as ActiveStops,
      { find } as unknown as RecordReader,
      gate,
    );
    expect(await runner.stopOf(ASKED)).toBeNull();
    const handler = ({ signal }: ActionContext): Promise<string> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('aborted'));
        setTimeout(() => resolve('done'), 200);
      });
    expect(await runner.run(handler, ASKED)).toMatchObject({ outcome: 'failed', failureCode: 'stopped' });
  });
});
