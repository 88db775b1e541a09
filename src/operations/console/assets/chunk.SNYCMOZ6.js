import{l as e}from"./chunk.WS7LECUS.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
