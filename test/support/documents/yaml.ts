import { join } from 'node:path';
import { run } from '../processes/shell';
import { ROOT } from './markdown';

/** The parser is a dependency of the linter of the API document, and an ES module, which Jest does not load. */
const PARSER = `import { parseYaml } from '@redocly/openapi-core';
  import { readFileSync } from 'node:fs';
  console.log(JSON.stringify(parseYaml(readFileSync(process.argv[1], 'utf8'))));`;

/** Parses a YAML file of the repository. @throws Error with the parser's message if the file is no YAML. */
export async function parseYamlFile<T>(file: string): Promise<T> {
  const { output, errors } = await run(process.execPath, ['--input-type=module', '--eval', PARSER, join(ROOT, file)], {
    folder: ROOT,
  });
  if (errors !== '') throw new Error(errors);
  return JSON.parse(output) as T;
}
