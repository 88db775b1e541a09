import { Controller, Get, Header, Redirect, Req, StreamableFile, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { basename } from 'node:path/posix';
import { Public } from '../http/authentication/public.decorator';
import { routeNotFound } from '../http/errors/request-errors';
import { FOR_EVERYBODY } from '../http/middleware/caching';
import { Uncounted } from '../http/rate-limit/rate-limit-bucket.decorator';
import { ApiDocument } from './api-document';
import { DocsEnabledGuard } from './docs-enabled.guard';
import { UI_ASSETS, uiAsset } from './ui-assets';
import { UI_PAGE } from './ui-page';
import { UI_START } from './ui-start';

/** The API's document and the page that shows it; nothing of it comes from anywhere else. */
@ApiExcludeController()
@Public()
@UseGuards(DocsEnabledGuard)
@Controller()
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  @Redirect('/docs')
  home(): void {
    // The decorator says it all.
  }

  @Get('docs')
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(): string {
    return UI_PAGE;
  }

  @Get('docs/openapi.json')
  openApi(): StreamableFile {
    return new StreamableFile(this.document.get(), { type: 'application/json; charset=utf-8' });
  }

  @Get('docs/start.js')
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  start(): string {
    return UI_START;
  }

  @Get(UI_ASSETS.map((name) => `docs/${name}`))
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  async asset(@Req() request: Request): Promise<StreamableFile> {
    const found = await uiAsset(basename(request.path));
    if (found === undefined) {
      throw routeNotFound();
    }
    return new StreamableFile(found.content, { type: found.type });
  }

  /** Public like what is there, but counted. */
  @Get('docs/:asset')
  nothing(): never {
    throw routeNotFound();
  }
}
