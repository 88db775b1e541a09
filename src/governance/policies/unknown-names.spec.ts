import { TimeSlice } from '../../core/concurrency/time-slice';
import { unknownNames } from './unknown-names';

const AGENTS = 1_000;
const SUBJECTS = 100;

describe('unknownNames', () => {
  it('lets the event loop serve others while it compares many long names', async () => {
    const nameOf = (letter: string, index: number): string => `${letter.repeat(190)}${index}`;
    const agents = Array.from({ length: AGENTS }, (_, index) => ({
      ...{ agentId: `agt_${index}`, agentName: nameOf('a', index), kind: 'machine' as const, roles: [], team: null },
    }));
    const subjects = Array.from({ length: SUBJECTS }, (_, index) => nameOf('b', index));
    const policy = { name: 'p', version: '1', subjects, actions: ['pay'], approval: null };
    const begun = TimeSlice.begun;
    const registered = { agents, capabilities: new Set(['pay']) };
    const warnings = await unknownNames([{ ...policy, isBefore: false, isAfter: true }], registered, SUBJECTS);
    expect(warnings).toHaveLength(SUBJECTS);
    expect(TimeSlice.begun - begun).toBeGreaterThan(10);
  });
});
