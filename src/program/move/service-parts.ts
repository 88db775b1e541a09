import type { Type } from '@nestjs/common';
import { AppModule } from '../../app.module';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { LedgerContribution } from '../../ledger/records/record-catalog';
import type { AnyRecordKind } from '../../ledger/kinds/record-kind';

/** The modules' contributions to the database. */
export interface ServiceParts {
  readonly schema: SchemaContribution;
  readonly kinds: readonly AnyRecordKind[];
}

/** Collects the values that modules provide, without starting the service, which would change the database. */
export async function collectServiceParts(): Promise<ServiceParts> {
  const values: unknown[] = [];
  await visit(await AppModule.forRoot({}, []), new Set(), values);
  const schemas = values.filter((value) => value instanceof SchemaContribution);
  const contributions = values.filter((value) => value instanceof LedgerContribution);
  return {
    schema: new SchemaContribution(
      [...new Set(schemas.flatMap(({ tables }) => tables))],
      [...new Set(schemas.flatMap(({ migrations }) => migrations))],
    ),
    kinds: [...new Set(contributions.flatMap(({ kinds }) => kinds))],
  };
}

interface ImportedModule {
  readonly module?: Type;
  readonly forwardRef?: () => unknown;
  readonly imports?: readonly unknown[];
  readonly providers?: readonly unknown[];
}

/** Visits a module, in any form of an import, and its own imports. */
async function visit(imported: unknown, visited: Set<unknown>, values: unknown[]): Promise<void> {
  const part = (await imported) as Type | ImportedModule;
  if (visited.has(part)) return;
  visited.add(part);
  if (typeof part === 'function') {
    await visitParts(partsOf(part), visited, values);
    return;
  }
  if (part.forwardRef !== undefined) await visit(part.forwardRef(), visited, values);
  await visitParts(part, visited, values);
  if (part.module !== undefined) await visit(part.module, visited, values);
}

async function visitParts(
  { imports = [], providers = [] }: ImportedModule,
  visited: Set<unknown>,
  values: unknown[],
): Promise<void> {
  for (const provider of providers) {
    if (typeof provider === 'object' && provider !== null && 'useValue' in provider) values.push(provider.useValue);
  }
  for (const imported of imports) await visit(imported, visited, values);
}

/** Returns the metadata of Nest's decorator about a module. */
function partsOf(module: Type): ImportedModule {
  const listIn = (name: string): readonly unknown[] =>
    (Reflect.getMetadata(name, module) as unknown[] | undefined) ?? [];
  return { imports: listIn('imports'), providers: listIn('providers') };
}
