import{a,b,c,d,e}from"./chunk.WQM37I4M.js";import"./chunk.IP5D2F5X.js";import"./chunk.WDJZ42VS.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
