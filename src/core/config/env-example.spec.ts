import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Variable } from './variables/variable';
import { VARIABLES } from './variables/variables';

const text = readFileSync(join(__dirname, '..', '..', '..', '.env.example'), 'utf8');
const lines = text.split('\n');

describe('.env.example', () => {
  it('names every variable once, in the order of the table', () => {
    const names = [...text.matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(names).toEqual(Object.values(VARIABLES).map((variable) => variable.name));
  });

  it.each(Object.values(VARIABLES))('shows the default of $name below its description', (variable) => {
    const assignment = lines.indexOf(`#${variable.name}=${variable.default}`);
    expect(assignment).toBeGreaterThan(-1);
    const paragraph = lines.slice(lines.lastIndexOf('', assignment) + 1, assignment);
    expect(paragraph[0]).toBe(`# ${variable.description}`);
  });

  it('shows only examples that are in the table', () => {
    const examples = [...text.matchAll(/^# Example: (.*)$/gm)].map(([, example]) => example);
    const rows: Variable<unknown>[] = Object.values(VARIABLES);
    const lines = rows.map(({ name, example, default: usual }) => `${name}=${example ?? usual}`);
    expect(lines).toEqual(expect.arrayContaining(examples));
  });
});
