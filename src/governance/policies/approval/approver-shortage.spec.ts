import { ApproverShortage } from './approver-shortage';

const ROLES = ['lead', 'finance', 'hr'];

/** The most different people that can each take one of the places, tried one after another. */
function mostFilled(places: readonly (readonly string[])[], people: readonly (readonly string[])[]): number {
  const [roles, ...rest] = places;
  if (roles === undefined) return 0;
  const without = mostFilled(rest, people);
  const withOne = people.flatMap((person, index) =>
    person.some((role) => roles.includes(role))
      ? 1 + mostFilled(rest, [...people.slice(0, index), ...people.slice(index + 1)])
      : [],
  );
  return Math.max(without, ...withOne);
}

function subsetsOf(items: readonly string[]): string[][] {
  return items.reduce<string[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);
}

describe('ApproverShortage', () => {
  it('counts as many approvals as different people can give', () => {
    const sets = subsetsOf(ROLES);
    const groups = sets.slice(1);
    for (const first of groups)
      for (const second of groups)
        for (const people of [...sets.map((one) => [one, ['lead']]), ...sets.map((one) => [one, one, ['hr']])]) {
          const shortage = new ApproverShortage([
            { subjects: first.map((role) => `role:${role}`), approvals: 2 },
            { subjects: second.map((role) => `role:${role}`), approvals: 1 },
          ]);
          for (const [index, roles] of people.entries())
            shortage.count({ id: `agt_${index}`, name: `p${index}`, kind: 'human', roles, team: null }, false);
          const expected = mostFilled([first, first, second], people);
          expect([shortage.possible, shortage.isOver]).toEqual([expected, expected === 3]);
        }
  });

  it.each([
    ['one person is the principal', [{ subjects: ['principal'], approvals: 2 }], 1],
    ['two groups need different people', [{ subjects: ['principal'] }, { subjects: ['principal'] }], 1],
    ['others stand beside the principal', [{ subjects: ['principal', 'role:lead'], approvals: 2 }], 2],
    ['the principal has a role, too', [{ subjects: ['principal'] }, { subjects: ['role:lead'] }], 2],
    [
      'who may fill a group by its escalation counts',
      [{ subjects: ['role:lead'], approvals: 2, escalate: { after: 'PT1H', subjects: ['role:finance'] } }],
      2,
    ],
    [
      'the principal may be among them',
      [{ subjects: ['role:hr'], approvals: 2, escalate: { after: 'PT1H', subjects: ['principal'] } }],
      1,
    ],
  ])('%s', (_, groups, possible) => {
    const shortage = new ApproverShortage(groups.map((group) => ({ approvals: 1, ...group })));
    for (const [index, role] of ['lead', 'finance'].entries())
      shortage.count({ id: `agt_${index}`, name: `p${index}`, kind: 'human', roles: [role], team: null }, false);
    expect(shortage.possible).toBe(possible);
  });
});
