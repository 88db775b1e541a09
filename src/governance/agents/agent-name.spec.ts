import { agentNameFault, normaliseAgentName } from './agent-name';

const NAMES = ['bot', 'Mail Bot', 'user:x', 'agt', 'AGT_1', '...', 'x%2Fy', 'ñandú', '😀'];
const NO_NAMES = [
  ' bot',
  'bot ',
  '\u00a0bot',
  'bot\u3000',
  '\tbot',
  '\ufeffbot',
  'a\nb',
  'a\u0000',
  'a\u0085b',
  'a\u200bb',
  'a\u202eb',
  'a/b',
  'a*',
  '*',
  '.',
  '..',
  'agt_',
  'agt_x',
  'agent:bot',
  'role:ops',
  'kind:human',
  'kind:',
];

describe('agent names', () => {
  it.each(NAMES)('accepts %j', (name) => {
    expect(agentNameFault(name)).toBeUndefined();
  });

  it.each(NO_NAMES)('refuses %j', (name) => {
    expect(agentNameFault(name)).toEqual(expect.any(String));
  });

  it('treats the composed and the decomposed form as one name', () => {
    expect(normaliseAgentName('cafe\u0301')).toBe('caf\u00e9');
  });
});
