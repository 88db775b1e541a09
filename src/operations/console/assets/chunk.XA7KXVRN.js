import{l as e}from"./chunk.3EYSZ5E2.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
