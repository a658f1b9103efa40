# fish completion of archivebox-ts:  archivebox-ts completion fish | source
function __archivebox_ts
    set -l line (commandline -opc) (commandline -ct)
    set -l lines ($line[1] completion words $line 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $lines[2..-1]
    end
end
complete -c archivebox-ts -f -a '(__archivebox_ts)'
