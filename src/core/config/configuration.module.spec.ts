import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test } from '@nestjs/testing';
import { Configuration } from './configuration';
import { ConfigurationError } from './read-configuration';
import { ConfigurationModule } from './configuration.module';
import type { Environment } from './variables/variable';

async function configurationOf(environment?: Environment): Promise<Configuration> {
  const imports = [await ConfigurationModule.forRoot(environment)];
  const module = await Test.createTestingModule({ imports }).compile();
  return module.get(Configuration);
}

describe('ConfigurationModule', () => {
  const previousFolder = process.cwd();
  const previousEnvironment = { ...process.env };
  const folder = mkdtempSync(join(tmpdir(), 'governance-env-'));

  beforeAll(() => {
    writeFileSync(join(folder, '.env'), 'PORT=4001\nHOST=127.0.0.1\n');
    process.chdir(folder);
  });

  beforeEach(() => {
    process.env = { NODE_ENV: 'test' };
  });

  afterAll(() => {
    process.env = previousEnvironment;
    process.chdir(previousFolder);
    rmSync(folder, { recursive: true });
  });

  it('reads .env and lets the environment win', async () => {
    process.env['PORT'] = '4002';
    expect(await configurationOf()).toMatchObject({ host: '127.0.0.1', port: 4002, nodeEnvironment: 'test' });
  });

  it('reads nothing but a given environment', async () => {
    process.env['PORT'] = '4002';
    expect(await configurationOf({})).toMatchObject({ host: '0.0.0.0', port: 3000, nodeEnvironment: 'development' });
  });

  it('does not change the environment, so that a generated key stays inside', async () => {
    const { apiKey } = await configurationOf();
    expect(process.env).toEqual({ NODE_ENV: 'test' });
    expect(apiKey).toMatch(/^[0-9a-f]{48}$/);
  });

  it('rejects with all faults', async () => {
    await expect(configurationOf({ PORT: 'x', HOST: 'a b' })).rejects.toThrow(ConfigurationError);
  });
});
