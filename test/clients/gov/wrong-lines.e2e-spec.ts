import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine, gov } from '../command-line';

describeOnSqlite('A wrong command line of gov', () => {
  beforeAll(buildCommandLine);

  it.each([
    ['agents show bot', 'gov agents has no command "show". One record by its id: gov show <id>. It has list, create,'],
    ['agents suspnd bot', 'gov agents has no command "suspnd". Did you mean "suspend"?'],
    ['polices', 'gov has no command "polices". Did you mean policies? More: gov --help'],
    [
      'policies lnt',
      'gov policies has no command "lnt". It has pull, lint, test, plan, apply. More: gov policies --help',
    ],
    ['approve', 'gov approve needs <decision>. Its use: gov approve [options] <decision>.'],
    ['approve dec_1 dec_2', 'gov approve takes only <decision>. Its use: gov approve [options] <decision>.'],
    ['audit dec_1', 'gov audit takes no arguments, only options.'],
    ['stop', 'gov stop needs --reason <text>.'],
    ['stop --reason', 'The option --reason <text> of gov stop needs a value.'],
    ['show --jsn x', 'gov show has no option --jsn. Did you mean --json?'],
    ['audit --limit x', "Option '--limit <number>' argument 'x' is invalid. Expected a whole number, such as 50."],
    ['mcp --ask kind:robot', 'The subject "kind:robot" must be one of kind:machine, kind:human'],
  ])('is refused in one line that says what is right: %s', async (line, expected) => {
    const { exitCode, output, errors } = await gov(line.split(' '), { environment: {} });
    expect([exitCode, output, errors]).toEqual([1, '', expect.stringContaining(expected)]);
    expect(errors).toMatch(/^[^\n]+\n$/);
  });

  it('shows what it names with escapes for what cannot be seen', async () => {
    const { errors } = await gov(['agents', 'a\n\u001b[2Jb'], { environment: {} });
    expect(errors).toMatch(/^gov agents has no command "a\\u000a\\u001b\[2Jb"\.[^\n]*\n$/);
  });
});
